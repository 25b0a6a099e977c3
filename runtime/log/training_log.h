// SPDX-License-Identifier: Apache-2.0
// What a run writes beside its lines: a JSON object a line (job.log_file) and TensorBoard's curves
// (job.tensorboard_folder). A run doesn't end because its log can't be written: it says so once and
// goes on without.
#pragma once

#include <cstdint>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/log/event_file.h"
#include "runtime/training_job.h"

namespace orrery {

struct ExpertLoad;
struct StepReport;

// `text` as a JSON string, with what is no UTF-8 as U+FFFD.
std::string json_string(std::string_view text);

class TrainingLog {
public:
    using Warn = std::function<void(const std::string&)>;
    // Error::where is the path that can't be written. A log file is appended to.
    static Result<TrainingLog> open(const TrainingJob& job, Warn warn);

    void step(const StepReport& mean);
    void experts(std::int64_t step, const std::vector<ExpertLoad>& loads);
    void validation(std::int64_t step, double loss);
    void sample(std::int64_t step, std::string_view prompt, std::string_view text);

private:
    void write_line(const std::string& line);
    void write_scalars(std::int64_t step, std::span<const ScalarEvent> values);

    Warn warn_;
    std::string path_;
    std::optional<std::ofstream> file_;
    std::optional<EventFile> events_;
};

}  // namespace orrery
