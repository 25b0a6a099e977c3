// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/run_recorder.h"

#include "runtime/communication/clock_offset.h"
#include "runtime/executor.h"
#include "runtime/measure/host_machine.h"
#include "runtime/measure/recording.h"
#include "scenarios/format/document/output_file.h"
#include "scenarios/report/recording_json.h"
#include "scenarios/report/trace/run_trace.h"
#include "scenarios/studies/measure/recorded_run.h"

namespace orrery {

RunRecorder::RunRecorder(RecordOptions options, const ProcessWorld& world, Executor& executor)
    : options_(std::move(options)), world_(world), executor_(executor) {}

// Without a folder for the recording, a temporary one is used until the trace is drawn.
std::filesystem::path RunRecorder::folder() const {
    return options_.folder.empty() ? std::filesystem::path{options_.trace_file} += ".recording"
                                   : options_.folder;
}

std::string RunRecorder::words_of_machine() const {
    const std::string host = host_machine().words();
    return executor_.overlaps() ? executor_.device_name() + ", " + host : host;
}

Result<std::unique_ptr<RunRecorder>> RunRecorder::start(const RecordOptions& options,
                                                        const ProcessWorld& world,
                                                        Executor& executor) {
    if (options.folder.empty() && options.trace_file.empty()) {
        return nullptr;
    }
    std::unique_ptr<RunRecorder> recorder{new RunRecorder(options, world, executor)};
    if (!options.trace_file.empty() && world.rank == 0) {
        // An unwritable file is reported before the run.
        if (const auto writable = OutputFile::open(options.trace_file); !writable) {
            return unexpected<Error>(writable.error());
        }
    }
    if (const Result<void> ready = begin_run_folder(recorder->folder()); !ready) {
        return unexpected<Error>(ready.error());
    }
    executor.record(&recorder->recorder_);
    return recorder;
}

ResultOrErrors<void> RunRecorder::finish() {
    const auto give_up = [](Error error) { return unexpected<Errors>(Errors{std::move(error)}); };
    executor_.record(nullptr);
    Result<std::int64_t> offset = 0;
    if (world_.transport != nullptr) {
        offset = clock_offset_ns(*world_.transport);
    }
    if (!offset) {
        return give_up(offset.error());
    }
    const RankRecording recording = recording_of(recorder_, executor_.plan().bytes(), *offset);
    Result<void> done = write_recording(folder(), world_.rank, recording);
    if (done && executor_.world() != nullptr) {
        done = executor_.world()->barrier();
    }
    if (done && world_.rank == 0) {
        done = write_run_description(folder(),
                                     *options_.scenario,
                                     {.machine = words_of_machine(),
                                      .ranks = world_.num_ranks,
                                      .overlaps = executor_.overlaps()});
    }
    if (!done) {
        return give_up(done.error());
    }
    if (world_.rank != 0 || options_.trace_file.empty()) {
        return {};
    }
    const auto run = read_recorded_run(folder());
    if (!run) {
        return unexpected<Errors>(run.error());
    }
    done = write_run_trace(options_.trace_file.string(), *run, options_.profile_file);
    if (options_.folder.empty()) {
        std::error_code ignored;
        std::filesystem::remove_all(folder(), ignored);
    }
    return done ? ResultOrErrors<void>{} : give_up(done.error());
}

}  // namespace orrery
