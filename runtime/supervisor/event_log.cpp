// SPDX-License-Identifier: Apache-2.0
#include "runtime/supervisor/event_log.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>

#include "engine/base/standard_error.h"
#include "runtime/log/training_log.h"

namespace orrery {
namespace {

class File final : public EventLog {
public:
    File(std::ofstream file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

    void job(const JobShape& shape,
             std::uint32_t nodes,
             const std::vector<std::string>& policies) override {
        std::vector<std::string> quoted;
        for (const std::string& policy : policies) {
            quoted.push_back(json_string(policy));
        }
        write(fmt::format(R"({{"job":{{"nodes":{},"slots":{},"units":{},"stages":{},)"
                          R"("unit_major":{},"nodes_per_place":{},"state_sharded":{}}},)"
                          R"("policies":[{}]}})",
                          nodes,
                          shape.slots,
                          shape.units,
                          shape.stages,
                          shape.unit_major,
                          shape.nodes_per_place,
                          shape.state_sharded,
                          fmt::join(quoted, ",")));
    }
    void event(WallTime time, const std::string& text) override {
        write(fmt::format(R"({{"t_us":{},"event":{}}})", time.microseconds(), json_string(text)));
    }
    void exchange(const Observation& o, const std::vector<Action>& actions) override {
        const std::int64_t time = o.time.microseconds();
        write(fmt::format(R"({{"t_us":{},"observation":{{"kind":"{}","detector":"{}",)"
                          R"("fault":"{}","nodes":[{}],"slow":[{}],"step":{},"durable_step":{},)"
                          R"("memory_step":{},"verified_step":{}}}}})",
                          time,
                          name(o.kind),
                          name(o.detector),
                          name(o.fault),
                          fmt::join(o.nodes, ","),
                          fmt::join(o.slow, ","),
                          o.step,
                          o.durable_step,
                          o.memory_step,
                          o.verified_step));
        for (const Action& action : actions) {
            write(fmt::format(R"({{"t_us":{},"action":{}}})", time, json_string(to_line(action))));
        }
    }

private:
    void write(const std::string& line) {
        const bool was_well = static_cast<bool>(file_);
        file_ << line << std::endl;
        if (was_well && !file_) {
            print_to_stderr(fmt::format("orrery: warning: {} can't be written any more\n", path_));
        }
    }
    std::ofstream file_;
    std::string path_;
};

class Nowhere final : public EventLog {
public:
    void job(const JobShape&, std::uint32_t, const std::vector<std::string>&) override {}
    void event(WallTime, const std::string&) override {}
    void exchange(const Observation&, const std::vector<Action>&) override {}
};

}  // namespace

Result<std::unique_ptr<EventLog>> EventLog::open(const std::filesystem::path& path) {
    if (path.empty()) {
        return std::make_unique<Nowhere>();
    }
    std::ofstream file{path, std::ios::trunc};
    if (!file) {
        return fail(path.string(), "can't be written", "another file for the events");
    }
    return std::make_unique<File>(std::move(file), path.string());
}

}  // namespace orrery
