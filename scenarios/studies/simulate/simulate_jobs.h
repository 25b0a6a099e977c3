// SPDX-License-Identifier: Apache-2.0
// Several jobs at the same time on one cluster: the times of their steps alone and together, and
// the links that they share. Each job's Program is a party of one program
// (engine/program/merged_program.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/program/cause.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/simulate/answer.h"

namespace orrery {

struct JobAnswer {
    std::string name;
    Answer alone;  // of the job on its nodes, while the other jobs are idle
    Time start;
    Time end;                 // of its last simulated step
    std::vector<Time> steps;  // end of each of them
    // Mean period of its steps while all jobs run, without the first step.
    Time iteration;
    CauseTimes critical_path;  // of its last step
    double slowdown() const { return iteration / alone.iteration; }
};

// Links of a class that carry bytes of several jobs.
struct SharedLinks {
    std::string link_class;
    std::int64_t used = 0;             // by any job
    std::int64_t shared = 0;           // by several
    std::string busiest;               // of the shared ones
    std::vector<double> of_busiest{};  // by job: share of its capacity
};

struct JobsAnswer {
    std::string scenario;
    std::string cluster;
    std::string device;
    std::string network_model;
    std::vector<std::string> remarks;
    std::vector<JobAnswer> jobs;
    std::vector<SharedLinks> links;  // of classes that any job uses
    std::vector<LinkHeat> heat;      // all jobs together
    std::int64_t ranks = 0;
    std::uint64_t seed = 0;
    std::int64_t simulated_ops = 0;
    std::int64_t fold_classes = 0;
    std::int64_t flows = 0;
    double wall_s = 0;
    std::string version;
};

struct JobsOptions {
    bool fold = true;
    std::function<void(double)> progress;  // with the share of the work done
};

// `scenario.jobs` must not be empty. Every job runs at least job.steps steps, and more until all
// jobs have run at the same time.
Result<JobsAnswer> simulate_jobs(const Scenario& scenario, const JobsOptions& options = {});

}  // namespace orrery
