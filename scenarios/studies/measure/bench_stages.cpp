// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/measure/bench_stages.h"

#include <fmt/format.h>

#include "runtime/cuda/cuda_features.h"
#include "scenarios/studies/measure/kernel_comparison.h"

namespace orrery {
namespace {

// A kernel that ends its process is rarely the only one.
constexpr int kMostFailedComparisons = 12;

class StageSeries {
public:
    StageSeries(const StageRunner& run, const std::function<void(const std::string&)>& print)
        : run_(run), print_(print) {}

    // Runs the stage. If it fails, repeats it with fewer and fewer kernels. `without` gets the
    // setting that worked.
    Result<StageOutcome> run_until_it_works(const BenchStage& stage, std::string& without) {
        auto outcome = run_once(stage, without);
        if (!outcome || !stage.uses_kernels) {
            return outcome;
        }
        const StageOutcome first = *outcome;
        for (std::string less = leave_out_more(without); fails(*outcome) && !less.empty();
             less = leave_out_more(less)) {
            print_(fmt::format("{}: again, without {}\n", stage.name, less));
            outcome = run_once(stage, less);
            if (!outcome) {
                return outcome;
            }
        }
        if (fails(*outcome)) {
            return first;  // fewer kernels do not help
        }
        without = outcome->without;
        return outcome;
    }

private:
    static bool died(const StageEnd& end) {
        return end.timed_out || (end.status != 0 && end.status != kStatusOfWrongResults);
    }
    static bool fails(const StageOutcome& outcome) {
        return outcome.failed > 0 || died(outcome.end);
    }

    Result<StageOutcome> run_once(const BenchStage& stage, const std::string& without) {
        print_(fmt::format("\n{}\n", stage.name));
        StageOutcome outcome{.name = stage.name, .end = {}, .without = without};
        StageCommand command = stage.command;
        if (!without.empty()) {
            command.environment.emplace_back(kCudaWithout, without);
        }
        std::string output;
        double seconds = 0;
        bool wrong = false;
        for (std::size_t first = 0;;) {
            if (stage.is_numbered) {
                command.words.back() = std::to_string(first);
            }
            output.clear();
            const auto end = run_(command, [&](const std::string& part) {
                output += part;
                print_(part);
            });
            if (!end) {
                return unexpected<Error>(end.error());
            }
            outcome.end = *end;
            seconds += end->seconds;
            wrong = wrong || end->status == kStatusOfWrongResults;
            const auto reached =
                stage.is_numbered && died(*end) ? last_comparison(output) : std::nullopt;
            // If the process did not get beyond the last failed comparison, another one would not,
            // either.
            if (!reached || *reached <= first || ++outcome.failed == kMostFailedComparisons) {
                break;
            }
            print_(fmt::format("\n  {}: going on behind it\n", end->words()));
            first = *reached;
        }
        outcome.end.seconds = seconds;
        if (wrong && outcome.end.ok()) {
            outcome.end.status = kStatusOfWrongResults;
        }
        if (stage.conclusion) {
            print_(stage.conclusion(output));
        }
        print_(fmt::format("{}: {}, {:.1f} s\n", stage.name, outcome.end.words(), seconds));
        return outcome;
    }

    const StageRunner& run_;
    const std::function<void(const std::string&)>& print_;
};

}  // namespace

std::string leave_out_more(const std::string& without) {
    const auto now = cuda_features_without(without);
    for (const char* more : {"wgmma", "wgmma,mma,fused", "wgmma,mma,graphs,fused,gates"}) {
        const auto less = cuda_features_without(without.empty() ? more : without + "," + more);
        if (now && less && *less != *now) {
            return less->without();
        }
    }
    return {};
}

Result<std::vector<StageOutcome>> run_stages(const std::vector<BenchStage>& stages,
                                             std::string without,
                                             const StageRunner& run,
                                             const std::function<void(const std::string&)>& print) {
    StageSeries series{run, print};
    std::vector<StageOutcome> outcomes;
    for (const BenchStage& stage : stages) {
        auto outcome = series.run_until_it_works(stage, without);
        if (!outcome) {
            return unexpected<Error>(outcome.error());
        }
        outcomes.push_back(std::move(*outcome));
    }
    return outcomes;
}

}  // namespace orrery
