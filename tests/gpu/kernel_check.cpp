// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels on a real GPU (tests/gpu/check_options.h). A CUDA error leaves a process unable
// to use the GPU, and a kernel may never end: every family of cases has a process and a time limit
// of its own. Without a GPU it says so and ends.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <random>
#include <thread>

#include "tests/gpu/case_runner.h"
#include "tests/gpu/check_options.h"

namespace orrery::gpu_check {
namespace {

enum ExitStatus { kGood, kFailed, kUsage, kCudaError, kNoDevice };

struct Cases {
    std::vector<KernelCase> checked;  // beside the CPU
    std::vector<KernelCase> timed;

    std::vector<std::string> families() const {
        std::vector<std::string> names;
        for (const auto* cases : {&checked, &timed}) {
            for (const KernelCase& c : *cases) {
                if (std::ranges::count(names, family_of(c)) == 0) {
                    names.push_back(family_of(c));
                }
            }
        }
        return names;
    }
};

Cases wanted_cases(const CheckOptions& options, std::uint64_t seed) {
    Cases cases;
    const auto take = [&](std::vector<KernelCase> from, std::vector<KernelCase>& into) {
        for (KernelCase& c : from) {
            if (options.wants(line_of(c))) {
                into.push_back(std::move(c));
            }
        }
    };
    numeric::Draw draw{seed};
    for (int round = 0; options.checks && round < options.rounds; ++round) {
        take(drawn_cases(draw, round), cases.checked);
        take(drawn_step_end_cases(draw, round), cases.checked);
        take(drawn_products(draw, round), cases.checked);
    }
    take(timed_cases(), cases.timed);
    take(timed_products(), cases.timed);
    return cases;
}

class Report {
public:
    explicit Report(const std::string& csv) {
        if (!csv.empty()) {
            csv_.open(csv, std::ios::app);
        }
    }
    // At once: a later case may end the process.
    void add(const CheckedCase& row) {
        fmt::print("{}", check_line(row));
        std::fflush(stdout);
        if (csv_.is_open()) {
            csv_ << csv_line(row) << std::flush;
        }
        failed_ += row.good() ? 0 : 1;
    }
    int failed() const { return failed_; }

private:
    std::ofstream csv_;
    int failed_ = 0;
};

// The cases of `family`, or all if it is empty.
int run_cases(const Cases& cases, const std::string& family, const CheckOptions& options) {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        return kNoDevice;
    }
    Report report{options.csv};
    const KernelCase* now = nullptr;
    try {
        const CaseRunner runner;
        const auto for_own = [&](const std::vector<KernelCase>& all, const auto& work) {
            for (const KernelCase& c : all) {
                if ((family.empty() || family_of(c) == family) && runner.has_cores_of(c)) {
                    now = &c;
                    work(c);
                }
            }
        };
        for_own(cases.checked, [&](const KernelCase& c) { report.add(runner.check(c)); });
        for_own(cases.timed, [&](const KernelCase& c) {
            if (options.checks && c.beside_rows) {
                report.add(runner.check(c));
            }
        });
        for_own(cases.timed, [&](const KernelCase& c) {
            if (options.times) {
                report.add(runner.time(c));
            }
        });
    } catch (const CudaFailure& failure) {
        CheckedCase row{.family = family, .kernel = "", .shape = "", .dtype = "", .cores = ""};
        if (now != nullptr) {
            row = {.family = family_of(*now),
                   .kernel = now->kernel,
                   .shape = now->shape,
                   .dtype = std::string{name(now->dtype)},
                   .cores = cores_of(*now)};
        }
        row.status = failure.what();
        report.add(row);
        return kCudaError;
    }
    return report.failed() == 0 ? kGood : kFailed;
}

// What a family's process came to.
std::string run_family(const Cases& cases, const std::string& family, const CheckOptions& options) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        const int status = run_cases(cases, family, options);
        std::fflush(stdout);
        _exit(status);  // nothing of the parent's is to be undone
    }
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{options.limit_s};
    int status = 0;
    while (child > 0 && waitpid(child, &status, WNOHANG) == 0) {
        if (std::chrono::steady_clock::now() > deadline) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            return fmt::format("TIMED OUT after {} s", options.limit_s);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
    }
    if (child < 0) {
        return "FAILED: no process could be started";
    }
    if (!WIFEXITED(status)) {
        return fmt::format("FAILED: signal {}", WTERMSIG(status));
    }
    switch (WEXITSTATUS(status)) {
        case kGood:
            return "ok";
        case kNoDevice:
            return "no CUDA device";
        case kCudaError:
            return "CUDA ERROR";
        default:
            return "FAILED";
    }
}

int run_families(const Cases& cases, const CheckOptions& options) {
    int failed = 0;
    std::string summary = "\n";
    for (const std::string& family : cases.families()) {
        const std::string status = run_family(cases, family, options);
        if (status == "no CUDA device") {
            fmt::print("no CUDA device: nothing was checked\n");
            return kGood;
        }
        summary += fmt::format("{:26} {}\n", family, status);
        failed += status == "ok" ? 0 : 1;
    }
    fmt::print("{}{} of {} families failed\n", summary, failed, cases.families().size());
    return failed == 0 ? kGood : kFailed;
}

int run(const CheckOptions& options) {
    // The list of what is drawn differs from seed to seed.
    const std::uint64_t seed =
        options.seed.value_or(options.list ? std::uint64_t{1} : std::random_device{}());
    const Cases cases = wanted_cases(options, seed);
    if (options.list) {
        for (const auto* some : {&cases.checked, &cases.timed}) {
            for (const KernelCase& c : *some) {
                fmt::print("{}\n", line_of(c));
            }
        }
        return kGood;
    }
    fmt::print("seed {}\n\n", seed);
    if (!options.csv.empty()) {
        std::ofstream csv{options.csv};
        csv << csv_head();
        if (!csv.flush()) {
            fmt::print(stderr, "--csv: error: {} can't be written\n", options.csv);
            return kUsage;
        }
    }
    if (!options.one_process) {
        return run_families(cases, options);
    }
    const int status = run_cases(cases, "", options);
    if (status == kNoDevice) {
        fmt::print("no CUDA device: nothing was checked\n");
    }
    return status == kNoDevice ? kGood : status;
}

}  // namespace
}  // namespace orrery::gpu_check

int main(int argc, char** argv) {
    const auto words = std::span<const char* const>{argv, static_cast<std::size_t>(argc)};
    const auto options = orrery::gpu_check::check_options(words.subspan(1));
    if (!options) {
        fmt::print(stderr, "{}\n", options.error().to_string());
        return orrery::gpu_check::kUsage;
    }
    if (options->help) {
        fmt::print("{}", orrery::gpu_check::kCheckUsage);
        return 0;
    }
    return orrery::gpu_check::run(*options);
}
