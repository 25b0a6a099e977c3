// SPDX-License-Identifier: Apache-2.0
// A file of TensorBoard events: scalars over steps. The records are TensorFlow's TFRecord (uint64
// length, its masked CRC-32C, the bytes, their masked CRC-32C; the mask rotates right by 15 bits
// and adds 0xA282EAD8). Each is an Event message of protocol buffers, encoded here by hand:
// wall_time 1 (double), step 2, file_version 3, summary 5 {value 1 {tag 1, simple_value 2}}.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/result.h"

namespace orrery {

struct ScalarEvent {
    std::string_view tag;  // "loss/train"
    double value = 0;
};

// The bytes of an event, and of a record that contains it.
std::string scalar_event(double wall_time, std::int64_t step, std::span<const ScalarEvent> values);
std::string event_record(std::string_view event);

class EventFile {
public:
    // Creates a file in the folder, which is made if it is missing. TensorBoard shows all files of
    // a folder with "tfevents" in their names as one run.
    static Result<EventFile> create(const std::filesystem::path& folder);
    // The event is on the disk when it returns.
    Result<void> write(std::int64_t step, std::span<const ScalarEvent> values);

private:
    EventFile(std::filesystem::path path, std::ofstream file)
        : path_(std::move(path)), file_(std::move(file)) {}
    std::filesystem::path path_;
    std::ofstream file_;
};

}  // namespace orrery
