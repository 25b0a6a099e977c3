// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>

#include "kernels/csv_rows.h"
#include "tests/scenarios/sections.h"
#include "tests/test_folder.h"

namespace orrery {
namespace read_faults_test {

const ClusterShape kShape{.nodes = 2048};

std::string fault_errors(const std::string& text, FaultPlan* plan = nullptr) {
    Errors errors;
    FaultPlan ignored;
    read_faults(section_of(text),
                shipped_catalogue(),
                ".",
                kShape,
                plan != nullptr ? *plan : ignored,
                errors);
    return lines_of(errors);
}

FaultPlan plan_of(const std::string& text) {
    FaultPlan plan;
    EXPECT_EQ(fault_errors(text, &plan), "") << text;
    return plan;
}

TEST(ReadFaults, ReadsOneFault) {
    const FaultPlan plan = plan_of("- {t: 3d4h, at: \"node:17/gpu:3\", kind: gpu_lost}");
    ASSERT_EQ(plan.processes.size(), 1u);
    EXPECT_EQ(plan.processes[0].once, WallTime::hours(76));
    EXPECT_EQ(plan.processes[0].at, (Component{Scope::gpu, 17 * 8 + 3}));
}

TEST(ReadFaults, CyclesAreFaultsOneAfterAnother) {
    const FaultPlan plan = plan_of(
        "- {kind: link_flap, at: \"node:2/nic:1\", t: 1 h, duration: 3 s, every: 20 s, cycles: 3}");
    ASSERT_EQ(plan.processes.size(), 3u);
    EXPECT_EQ(plan.processes[2].once, WallTime::seconds(3640));
    EXPECT_NE(fault_errors("- {kind: link_flap, cycles: 2}").find("needs 'every'"),
              std::string::npos);
}

TEST(ReadFaults, AFaultWithoutAPlaceStandsAtEachComponentOfItsKind) {
    for (const auto& [kind, scope] : {std::pair{"gpu_lost", Scope::gpu},
                                      std::pair{"slow_gpu", Scope::gpu},
                                      std::pair{"nic_down", Scope::nic},
                                      std::pair{"gray_link", Scope::nic},
                                      std::pair{"switch_down", Scope::leaf},
                                      std::pair{"spine_loss", Scope::spine},
                                      std::pair{"power_loss", Scope::pdu},
                                      std::pair{"site_loss", Scope::site},
                                      std::pair{"node_crash", Scope::node},
                                      std::pair{"slow_host", Scope::node},
                                      std::pair{"software_bug", Scope::job}}) {
        const FaultPlan plan =
            plan_of(std::string{"- {process: exponential, mtbf: 9 d, kind: "} + kind + "}");
        ASSERT_EQ(plan.processes.size(), 1u);
        EXPECT_EQ(plan.processes[0].at.scope, scope) << kind;
    }
    EXPECT_EQ(plan_of("- {kind: spine_loss, at: job}").processes[0].at.scope, Scope::job);
    EXPECT_NE(fault_errors("- {kind: switch_down, at: job}").find("does not happen to job"),
              std::string::npos);
}

TEST(ReadFaults, ReadsProcesses) {
    const FaultPlan plan = plan_of(
        "- {process: exponential, kind: gpu_lost, at: \"gpu:*\", mtbf: 2000 d, frailty: 0.93}\n"
        "- {process: weibull, kind: power_loss, at: \"pdu:*\", mtbf: 100 d, shape: 0.5}\n"
        "- {process: exponential, kind: software_bug, count: 54, window: 54 d}\n"
        "- {process: exponential, kind: ecc_correctable, mtbf: 9 d, duration: {median: 1 h, "
        "sigma: 1}, escalates: {kind: hbm_uncorrectable, p: 0.1, after: 2 h}}\n"
        "- {daily_variance: 3.43}\n");
    ASSERT_EQ(plan.processes.size(), 4u);
    EXPECT_EQ(plan.processes[0].interval.scale, WallTime::days(2000));
    EXPECT_NEAR(plan.processes[1].interval.mean_s(), 100 * 86400.0, 1e-3);
    EXPECT_EQ(plan.processes[2].interval.scale, WallTime::days(1));
    EXPECT_EQ(plan.processes[2].at.scope, Scope::job);
    EXPECT_EQ(plan.processes[3].escalation->probability, 0.1);
    EXPECT_EQ(plan.daily_variance, 3.43);
}

// The catalogue's counts are the published ones, and they add up to 419 on the paper's cluster.
TEST(ReadFaults, TheLlamaCatalogueHasThePublishedCounts) {
    const FaultPlan plan = plan_of("- {catalogue: llama-3-405b}");
    const auto rows = read_csv(ORRERY_SOURCE_DIR "/scenarios/catalogue/published/faults.csv",
                               {"source", "kind", "component", "value"},
                               true);
    ASSERT_TRUE(rows);
    std::map<std::string, double> published;
    for (const CsvRow& row : *rows) {
        if (row.fields[0] == "Llama 3 (arXiv:2407.21783) Table 5" && row.fields[1] == "count") {
            published[row.fields[2]] = *parse_number(row.fields[3]);
        }
    }
    ASSERT_EQ(plan.processes.size(), 18u);
    double all = 0;
    for (const FaultProcess& process : plan.processes) {
        const double count = expected_faults(process, kShape, WallTime::days(54));
        EXPECT_NEAR(count, published[process.name], 1e-6) << process.name;
        all += count;
    }
    EXPECT_NEAR(all, 419, 1e-5);
}

// S1: the mean over 200 seeds, the spread of single runs, and each class by chi-square.
TEST(ReadFaults, TheLlamaProcessIsInThePublishedBands) {
    const FaultPlan plan = plan_of("- {catalogue: llama-3-405b}");
    std::vector<double> of_class(18, 0);
    double sum = 0;
    int inside = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const auto events = make_schedule(plan.processes, {}, kShape, WallTime::days(54), seed);
        sum += static_cast<double>(events.size());
        inside += events.size() >= 379 && events.size() <= 459 ? 1 : 0;
        for (const FaultEvent& event : events) {
            of_class[event.process] += 1;
        }
    }
    EXPECT_NEAR(sum / 200, 419, 0.015 * 419);
    EXPECT_GE(inside, 180);
    double chi_square = 0;
    for (std::size_t i = 0; i < 18; ++i) {
        const double expected =
            200 * expected_faults(plan.processes[i], kShape, WallTime::days(54));
        const double part = (of_class[i] - expected) * (of_class[i] - expected) / expected;
        EXPECT_LT(part, 10.83) << plan.processes[i].name;  // one degree of freedom, p = 0.001
        chi_square += part;
    }
    EXPECT_LT(chi_square, 42.3);  // 18 degrees, p = 0.001
}

TEST(ReadFaults, EveryMistakeIsToldWithItsPlaceAndAHint) {
    struct Case {
        const char* text;
        const char* error;
    };
    for (const Case& c :
         {Case{"- {kind: gpu_lost, at: \"node:2048\"}",
               "s.yaml:1:20: error: faults[0].at: there is no node:2048 (hint: node:0 to "
               "node:2047)"},
          Case{"- {kind: gpu_lots}", "did you mean 'gpu_lost'"},
          Case{"- {kind: gpu_lost, p: 1.5}", "out of range (hint: 0 to 1)"},
          Case{"- {kind: software_bug, at: \"node:3\"}", "does not happen to node:3"},
          Case{"- {kind: gpu_lost, at: job}", "does not happen to job"},
          Case{"- {process: exponential, kind: gpu_lost}", "mtbf is missing"},
          Case{"- {process: exponential, kind: gpu_lost, mtbf: 5}", "has no unit"},
          Case{"- {process: gaussian, kind: gpu_lost}", "one of exponential, weibull"},
          Case{"- {kind: gpu_lost, whne: 3}", "unknown key 'whne'"},
          Case{"- {catalogue: llama-4}", "the catalogue has no fault 'llama-4'"},
          Case{"- {process: trace, file: nowhere.csv}", "nowhere.csv"},
          Case{"- gpu_lost", "must be a map"},
          Case{"gpu_lost: 3", "faults must be a list"},
          Case{"- {}", "lacks the key 'kind'"},
          Case{"- {kind: ecc_correctable, duration: {mean: 3 h, median: 2 h}}",
               "is no distribution"},
          Case{"- {daily_variance: 0.5}", "out of range"}}) {
        EXPECT_NE(fault_errors(c.text).find(c.error), std::string::npos) << c.text << "\n"
                                                                         << fault_errors(c.text);
    }
}

TEST(ReadFaults, TracesAreCheckedRowByRow) {
    const TestFolder folder;
    const auto errors = [&](const std::string& rows) {
        std::ofstream{folder.path() / "t.csv"} << "time_s,node,fault,duration_s,kind\n" << rows;
        Errors found;
        FaultPlan plan;
        read_faults(section_of("- {process: trace, file: t.csv}"),
                    shipped_catalogue(),
                    folder.path(),
                    kShape,
                    plan,
                    found);
        return lines_of(found);
    };
    EXPECT_EQ(errors("5,0,gpu/lost,10,hardware\n"), "");
    EXPECT_NE(errors("").find("the trace has no faults"), std::string::npos);
    EXPECT_NE(errors("5,0,gpu/lost,10,hardware\n4,1,gpu/lost,10,hardware\n").find("before the row"),
              std::string::npos);
    EXPECT_NE(errors("5,0,gpu/lost,-1,hardware\n").find("t.csv:2"), std::string::npos);
    EXPECT_NE(errors("5,2048,gpu/lost,1,hardware\n").find("2048 nodes"), std::string::npos);
    EXPECT_NE(errors("5,0,gpu/lost,1,wetware\n").find("hardware, software or other"),
              std::string::npos);
}

}  // namespace read_faults_test
}  // namespace orrery
