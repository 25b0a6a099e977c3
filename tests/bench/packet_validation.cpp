// SPDX-License-Identifier: Apache-2.0
// The packet model beside the published results of other packet simulators (uet-htsim, csg-htsim):
// one line a case, completion times in microseconds, deviation of the median and of the maximum.
// packet_validation [WORD [SEED]]: only the cases whose name holds WORD, another random draw.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "tests/network/packet/packet_cases.h"

namespace orrery {
namespace {

using namespace literals;
using namespace packet;
using testing::Outcome;
using testing::run_flows;

std::uint64_t draw = 1;  // of permutations

struct Case {
    std::string name;
    double median;  // published; 0: not given
    double max;
    std::function<Outcome()> run;
};

double cpu_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec) +
           static_cast<double>(usage.ru_utime.tv_usec) * 1e-6;
}

std::string deviation(double value, double published) {
    if (published == 0) {
        return "      ";
    }
    char text[16];
    std::snprintf(text, sizeof text, "%+5.1f%%", 100 * (value / published - 1));
    return text;
}

void show(const Case& one) {
    const double start = cpu_seconds();
    const Outcome o = one.run();
    std::printf("%-50s %9.2f %9.2f %s %9.2f %9.2f %9.2f %s %8lld %7.2f\n",
                one.name.c_str(),
                o.min(),
                o.median(),
                deviation(o.median(), one.median).c_str(),
                o.p99(),
                o.max(),
                one.max,
                deviation(o.max(), one.max).c_str(),
                static_cast<long long>(o.totals.repeated),
                cpu_seconds() - start);
    std::fflush(stdout);
}

PacketParameters uec(SprayKind spray, std::uint32_t paths) {
    PacketParameters p = published_parameters(CongestionKind::nscc);
    p.spray = spray;
    p.num_paths = paths;
    return p;
}

// htsim's RoCE and HPCC: 9,000 B packets, one FIFO per port, PFC at 15 and 12 packets, T = 12 us.
PacketParameters roce(CongestionKind kind, std::uint32_t packet_bytes = 9000) {
    PacketParameters p = published_parameters(kind);
    p.packet_bytes = packet_bytes;
    p.full_last_packet = true;
    p.pfc.kind = PfcKind::fixed;
    p.control_priority = false;
    p.base_rtt = 12_us;
    p.hpcc.increase_per_line = 9000 * 8 / 12e-6 / 100e9;  // its W_AI: a packet each T
    p.hpcc.stages_max = 5;
    return p;
}

// uet-htsim's results files: queue 100 packets, ECN 25/75 at 400 Gb/s.
PacketParameters results_file(CongestionKind kind, std::int64_t gigabits, std::uint32_t paths) {
    PacketParameters p = published_parameters(kind);
    p.num_paths = paths;
    p.queue = Bytes{gigabits / 4 * 4150};
    p.ecn.kmin = Bytes{gigabits / 16 * 4150};
    p.ecn.kmax = Bytes{gigabits * 3 / 16 * 4150};
    return p;
}

Topology leaf_spine_8192(std::int64_t gigabits, std::uint32_t spines) {
    const Bandwidth rate = Bandwidth::bits_per_second(gigabits * 1'000'000'000);
    return testing::topology_of(testing::leaf_spine(128, 64, spines, rate, 1_us));
}

// Tree 8,192: 512 leaves of 16 hosts, pods of 256, core radix 32.
Topology tree_8192() {
    return testing::topology_of({.hosts_per_leaf = 16,
                                 .leaves_per_block = 16,
                                 .num_blocks = 32,
                                 .tier2_per_block = 16,
                                 .cores_per_plane = 16,
                                 .host_rate = 100_Gbps,
                                 .host_latency = 1_us,
                                 .link_latency = 1_us});
}

Outcome permute(const Topology& topology, const PacketParameters& p, Bytes bytes) {
    return run_flows(topology, p, testing::permutation(topology.num_hosts(), bytes, draw));
}

// 64 groups {g, g + 64, ...} of 16, each member to each other one.
Outcome all_to_all(const PacketParameters& p) {
    const Topology tree = testing::topology_of(testing::fat_tree(16, 100_Gbps, 1_us));
    std::vector<FlowSpec> flows;
    for (std::uint32_t host = 0; host < 1024; ++host) {
        for (std::uint32_t step = 1; step < 16; ++step) {
            flows.push_back(
                {.source = host, .destination = (host + 64 * step) % 1024, .bytes = 64_KiB});
        }
    }
    return run_flows(tree, p, flows);
}

// Hosts 1, 2, 3 to host 0; 2 also to 4-12, 3 also to 13-21. The first flow alone is asked for.
Outcome outcast_incast(const Topology& tree, bool first_only) {
    std::vector<FlowSpec> flows;
    for (std::uint32_t i = 1; i <= 3; ++i) {
        flows.push_back({.source = i, .destination = 0, .bytes = 2'000'000_B});
    }
    for (std::uint32_t i = 4; i <= 21; ++i) {
        flows.push_back({.source = i <= 12 ? 2U : 3U, .destination = i, .bytes = 2'000'000_B});
    }
    Outcome outcome = run_flows(tree, uec(SprayKind::mixed, 64), flows);
    if (first_only) {
        outcome.fct_us.resize(1);  // the shortest is 1 -> 0: the other senders are shared
    }
    return outcome;
}

Topology tree(std::uint32_t k) {
    return testing::topology_of(testing::fat_tree(k, 100_Gbps, 1_us));
}

void add_tree_permutations(std::vector<Case>& cases) {
    const auto perm = [](const PacketParameters& p, Bytes bytes) {
        return [p, bytes] { return permute(tree(16), p, bytes); };
    };
    const PacketParameters mixed = uec(SprayKind::mixed, 64);
    const PacketParameters one_path = uec(SprayKind::single, 1);
    const PacketParameters credits = published_parameters(CongestionKind::credits);
    const PacketParameters dctcp = published_parameters(CongestionKind::uec_dctcp);
    cases.insert(
        cases.end(),
        {{"tree 1024 x 2 MB nscc mixed", 196, 206, perm(mixed, 2'000'000_B)},
         {"tree 1024 x 2 MB nscc bitmap", 197, 210, perm(uec(SprayKind::bitmap, 64), 2'000'000_B)},
         {"tree 1024 x 2 MB nscc reps", 203, 219, perm(uec(SprayKind::reps, 64), 2'000'000_B)},
         {"tree 1024 x 2 MB nscc oblivious",
          207,
          272,
          perm(uec(SprayKind::oblivious, 64), 2'000'000_B)},
         {"tree 1024 x 2 MB credits", 196, 210, perm(credits, 2'000'000_B)},
         {"tree 1024 x 2 MB uec dctcp", 201, 234, perm(dctcp, 2'000'000_B)},
         {"tree 1024 x 2 MB nscc, 128 paths",
          0,
          200.5,
          perm(uec(SprayKind::mixed, 128), 2'000'000_B)},
         {"tree 1024 x 2 MB nscc, one path", 0, 889.9, perm(one_path, 2'000'000_B)},
         {"tree 1024 x 500 KB nscc, one path", 112, 274, perm(one_path, 500'000_B)},
         {"tree 1024 x 500 KB roce + pfc", 136, 273, perm(roce(CongestionKind::none), 500'000_B)},
         {"tree 1024 x 500 KB pfc, 4,000 B packets",
          136,
          305,
          perm(roce(CongestionKind::none, 4000), 500'000_B)},
         {"tree 1024 x 500 KB hpcc", 134, 265, perm(roce(CongestionKind::hpcc), 500'000_B)}});
}

void add_tree_groups(std::vector<Case>& cases) {
    const auto into = [](std::uint32_t k, std::uint32_t n, const PacketParameters& p, Bytes bytes) {
        return [=] {
            const Topology topology = tree(k);
            return run_flows(topology, p, testing::incast(topology.num_hosts(), n, bytes));
        };
    };
    const PacketParameters mixed = uec(SprayKind::mixed, 64);
    const PacketParameters one_path = uec(SprayKind::single, 1);
    cases.insert(
        cases.end(),
        {{"all-to-all 64 x 16 x 64 KiB roce",
          128,
          183,
          [] { return all_to_all(roce(CongestionKind::none)); }},
         {"all-to-all 64 x 16 x 64 KiB hpcc",
          129,
          190,
          [] { return all_to_all(roce(CongestionKind::hpcc)); }},
         {"incast 15:1 x 2 MB nscc", 0, 2478.5, into(4, 15, mixed, 2'000'000_B)},
         {"incast 127:1 x 2 MB nscc", 0, 21'029, into(8, 127, mixed, 2'000'000_B)},
         {"incast 1,023:1 x 100 KB, window 50 packets",
          0,
          10'556,
          into(16, 1023, mixed, 100'000_B)},
         {"incast 128:1 x 200 KB roce + pfc",
          1690,
          2147,
          into(16, 128, roce(CongestionKind::none), 200'000_B)},
         {"incast 128:1 x 200 KB hpcc",
          1977,
          2153,
          into(16, 128, roce(CongestionKind::hpcc), 200'000_B)},
         {"outcast-incast", 0, 1638, [] { return outcast_incast(tree(8), false); }},
         {"outcast-incast, 1 -> 0", 0, 208.0, [] { return outcast_incast(tree(8), true); }},
         {"permutation 16 x 2 MB, 128 paths",
          0,
          194.0,
          [] { return permute(tree(4), uec(SprayKind::mixed, 128), 2'000'000_B); }},
         {"permutation 16 x 2 MB, one path",
          0,
          527.8,
          [one_path] { return permute(tree(4), one_path, 2'000'000_B); }},
         {"tree 8192 x 500 KB nscc",
          65,
          73,
          [mixed] { return permute(tree_8192(), mixed, 500'000_B); }},
         {"incast 128:1 x 1 MiB nscc, tree 8192", 10'955, 11'153, [mixed] {
              return run_flows(tree_8192(), mixed, testing::incast(8192, 128, 1_MiB));
          }}});
}

// Links at a quarter of their rate; queues and marks of the slow ports scale with them.
void slow_down(Topology& topology, std::uint32_t port) {
    const std::int64_t rate = topology.port(port).rate.bits_per_second();
    topology.set_rate(port, Bandwidth::bits_per_second(rate / 4));
}

// All eight links of the cores that lead down to the first aggregation switch.
Outcome slow_core(const PacketParameters& p) {
    Topology topology = tree(16);
    for (std::uint32_t i = 0; i < 8; ++i) {
        slow_down(topology, Topology::reverse(topology.core_uplink(0, i)));
    }
    return permute(topology, p, 2'000'000_B);
}

// The first spine with all its links, both directions.
Outcome slow_spine(const PacketParameters& p) {
    Topology topology = leaf_spine_8192(400, 64);
    for (std::uint32_t leaf = 0; leaf < 128; ++leaf) {
        slow_down(topology, topology.leaf_uplink(leaf, 0));
        slow_down(topology, Topology::reverse(topology.leaf_uplink(leaf, 0)));
    }
    return permute(topology, p, 1'000'000_B);
}

void add_slow_links(std::vector<Case>& cases) {
    const PacketParameters nscc = results_file(CongestionKind::nscc, 400, 128);
    const PacketParameters credits = results_file(CongestionKind::credits, 400, 128);
    const auto tree_case = [](SprayKind spray) {
        return [spray] { return slow_core(uec(spray, 128)); };
    };
    cases.insert(
        cases.end(),
        {{"tree 1024, 8 slow links, nscc oblivious", 0, 280.8, tree_case(SprayKind::oblivious)},
         {"tree 1024, 8 slow links, nscc bitmap", 0, 220.3, tree_case(SprayKind::bitmap)},
         {"tree 1024, 8 slow links, nscc reps", 0, 245.8, tree_case(SprayKind::reps)},
         {"tree 1024, 8 slow links, nscc mixed", 0, 219.6, tree_case(SprayKind::mixed)},
         {"leaf-spine 400g 8192 x 1 MB, slow spine, nscc",
          0,
          45.39,
          [nscc] { return slow_spine(nscc); }},
         {"leaf-spine 400g 8192 x 1 MB, slow spine, credits", 0, 46.29, [credits] {
              return slow_spine(credits);
          }}});
}

void add_leaf_spines(std::vector<Case>& cases) {
    const auto perm =
        [](std::int64_t gigabits, std::uint32_t spines, const PacketParameters& p, Bytes bytes) {
            return [=] { return permute(leaf_spine_8192(gigabits, spines), p, bytes); };
        };
    const auto nscc = [](std::int64_t gigabits, std::uint32_t paths) {
        return results_file(CongestionKind::nscc, gigabits, paths);
    };
    const PacketParameters rccc = results_file(CongestionKind::credits, 400, 128);
    cases.insert(
        cases.end(),
        {{"leaf-spine 400g 8192 x 1 MB nscc",
          31.8,
          35.92,
          perm(400, 64, nscc(400, 128), 1'000'000_B)},
         {"leaf-spine 400g 8192 x 1 MB nscc, 32 paths",
          0,
          38.71,
          perm(400, 64, nscc(400, 32), 1'000'000_B)},
         {"leaf-spine 400g 8192 x 1 MB credits", 0, 36.31, perm(400, 64, rccc, 1'000'000_B)},
         {"leaf-spine 400g 8192 x 2 MB nscc", 0, 56.26, perm(400, 64, nscc(400, 128), 2'000'000_B)},
         // Of the files of 2 August 2024 (…_2); those of 30 July, before a change of NSCC, say
         // 188.3, 266.2 and 240.2 (uet-htsim, sim/datacenter/results).
         {"leaf-spine 400g 8192 x 1 MB 4:1 nscc",
          0,
          117.4,
          perm(400, 16, nscc(400, 128), 1'000'000_B)},
         {"leaf-spine 400g 8192 x 2 MB 4:1 nscc",
          0,
          219.7,
          perm(400, 16, nscc(400, 128), 2'000'000_B)},
         {"leaf-spine 400g 8192 x 1 MB 8:1 nscc",
          0,
          208.6,
          perm(400, 8, nscc(400, 128), 1'000'000_B)},
         {"leaf-spine 800g 8192 x 1 MB nscc", 0, 22.14, perm(800, 64, nscc(800, 128), 1'000'000_B)},
         {"leaf-spine 200g 8192 x 1 MB nscc",
          0,
          58.81,
          perm(200, 64, nscc(200, 128), 1'000'000_B)}});
    const double published[2][5] = {{50.9, 179.5, 694.0, 1387, 2782},
                                    {51.0, 215.3, 736.3, 1409, 2769}};
    const std::uint32_t senders[5] = {2, 8, 32, 64, 128};
    for (int kind = 0; kind < 2; ++kind) {
        for (int i = 0; i < 5; ++i) {
            const std::uint32_t n = senders[i];
            const PacketParameters p = kind == 0 ? rccc : nscc(400, 128);
            cases.push_back({"incast " + std::to_string(n) + ":1 x 1 MiB 400g " +
                                 (kind == 0 ? "credits" : "nscc"),
                             0,
                             published[kind][i],
                             [=] {
                                 return run_flows(
                                     leaf_spine_8192(400, 64), p, testing::incast(8192, n, 1_MiB));
                             }});
        }
    }
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) {
    std::vector<orrery::Case> cases;
    orrery::draw = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    orrery::add_tree_permutations(cases);
    orrery::add_tree_groups(cases);
    orrery::add_leaf_spines(cases);
    orrery::add_slow_links(cases);
    std::printf("%-50s %9s %9s %6s %9s %9s %9s %6s %8s %7s\n",
                "case (completion in us)",
                "min",
                "median",
                "",
                "p99",
                "max",
                "published",
                "",
                "repeated",
                "CPU s");
    for (const orrery::Case& one : cases) {
        if (argc < 2 || one.name.find(argv[1]) != std::string::npos) {
            orrery::show(one);
        }
    }
}
