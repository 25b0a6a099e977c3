// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/import/nccl_tests.h"

#include <gtest/gtest.h>

#include <sstream>

namespace orrery {
namespace {

constexpr const char* kText = R"(# Collective test starting: all_reduce_perf
# nThread 1 nGpus 2 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20
# Using devices
#  Rank  0 Group  0 Pid  37 on  node device  0 [0x07] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid  37 on  node device  1 [0x0a] NVIDIA H100 80GB HBM3
#
#                                                              out-of-place    )"
                              R"(                   in-place
#       size         count      type   redop    root     time   algbw   busbw)"
                              R"( #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)  )"
                              R"(          (us)  (GB/s)  (GB/s)
           0             0     float     sum      -1     6.91    0.00    0.00  )"
                              R"(    0     6.90    0.00    0.00      0
     1048576        262144     float     sum      -1    25.50   41.12   41.12  )"
                              R"(    0    25.40   41.28   41.28      0
   134217728      67108864      half     sum      -1   612.25  219.22  219.22  )"
                              R"(    0   613.0   218.95  218.95      0
       65536         65536      int8     sum      -1    12.25    5.35    5.35  )"
                              R"(    0    12.0     5.46    5.46      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 130.01
)";

TEST(ImportNcclTests, ReadsItsTable) {
    const auto imported = import_nccl_tests(kText, "out.txt", {});
    ASSERT_TRUE(imported) << imported.error().front().to_string();
    const auto& rows = imported->profile.transfers;
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].device, "h100-80g");
    EXPECT_EQ(rows[0].time.kind, TransferKind::all_reduce);
    EXPECT_EQ(rows[0].time.ranks, 2u);
    EXPECT_EQ(rows[0].time.bytes, Bytes{1048576});
    EXPECT_EQ(rows[0].time.median, Time::seconds(25.5e-6));
    EXPECT_EQ(rows[1].time.wire, Dtype::fp16);
    EXPECT_EQ(imported->left_out, std::vector<std::string>{"int8: 1 rows"});
}

TEST(ImportNcclTests, TheProfileReadsBack) {
    const auto imported = import_nccl_tests(kText, "out.txt", {});
    ASSERT_TRUE(imported);
    std::istringstream csv{profile_csv(imported->profile, "nccl-tests")};
    const auto again = read_machine_profile(csv, "nccl.csv");
    ASSERT_TRUE(again) << again.error().front().to_string();
    EXPECT_EQ(again->transfers, imported->profile.transfers);
}

TEST(ImportNcclTests, ReadsItsJson) {
    const auto imported = import_nccl_tests(
        R"({"config": {}, "devices": [{"device_name": "NVIDIA A100-SXM4-80GB"},
            {"device_name": "NVIDIA A100-SXM4-80GB"}],
            "results": [{"size": 4096, "count": 1024, "type": "float", "redop": "sum", "root": -1,
                         "out_of_place": {"time": 17.5, "alg_bw": 1, "bus_bw": 1, "nwrong": 0}}]})",
        "out.json",
        {.collective = TransferKind::all_gather});
    ASSERT_TRUE(imported) << imported.error().front().to_string();
    ASSERT_EQ(imported->profile.transfers.size(), 1u);
    EXPECT_EQ(imported->profile.transfers[0].device, "a100-80g");
    EXPECT_EQ(imported->profile.transfers[0].time.median, Time::seconds(17.5e-6));
}

TEST(ImportNcclTests, WithoutRedopTheTimeIsStillFound) {
    const auto imported = import_nccl_tests(
        "  1024  256  float  12.00  0.1  0.1  0  11.0  0.1  0.1  0\n"
        "  2048  512  float  -1  1300  0.1  0.1  0  11.0  0.1  0.1  0\n",
        "out.txt",
        {.device = "h100-80g", .collective = TransferKind::broadcast, .ranks = 8});
    ASSERT_TRUE(imported) << imported.error().front().to_string();
    EXPECT_EQ(imported->profile.transfers[0].time.median, Time::seconds(12e-6));
}

TEST(ImportNcclTests, MistakesNameFileLineAndField) {
    const auto bad = import_nccl_tests(
        "# Collective test starting: all_reduce_perf\n"
        "  99999999999999999999  3  float  sum  -1  1.0  1.0  1.0  0\n"
        "  8  2  float  sum  -1  nan.  1.0  1.0  0\n  8 2 float\n  8 2 float sum\n",
        "out.txt",
        {.device = "h100-80g", .ranks = 2});
    ASSERT_FALSE(bad);
    ASSERT_EQ(bad.error().size(), 3u);
    EXPECT_EQ(bad.error()[0].to_string(),
              "out.txt:2: error: size: '99999999999999999999' is no number of bytes");
    EXPECT_EQ(bad.error()[1].where, "out.txt:3");
    EXPECT_NE(bad.error()[1].what.find("time: 'nan.'"), std::string::npos);
    EXPECT_EQ(bad.error()[2].where, "out.txt:5");
    const auto silent = import_nccl_tests("  8  2  float  sum  -1  1.0  1.0  1.0  0\n", "x", {});
    ASSERT_FALSE(silent);
    EXPECT_EQ(silent.error().size(), 3u);
    EXPECT_FALSE(import_nccl_tests("{\"results\": 3}", "x", {}));
    EXPECT_FALSE(import_nccl_tests("{", "x", {}));
    EXPECT_FALSE(import_nccl_tests("", "x", {}));
}

TEST(ImportNcclTests, AFileOfAnotherKindIsOneError) {
    std::string lines;
    for (int i = 0; i < 80; ++i) {
        lines += "cluster: {nodes: 8, node: dgx-h100}  # 12 34\n";
    }
    const auto wrong = import_nccl_tests(lines, "s.yaml", {});
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().size(), 1u);
}

// The same table inside a log: a launcher's command and tags, NCCL's own lines.
TEST(ImportNcclTests, OtherLinesOfALogArePassedOver) {
    const auto plain = import_nccl_tests(kText, "out.txt", {});
    ASSERT_TRUE(plain);
    const std::string noise =
        "+ mpirun -np 16 -H node1:8,node2:8 ./build/all_reduce_perf -b 8 -e 8G -f 2 -g 1\n"
        "node1:4242:4242 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n"
        "node1:4242:4300 [3] NCCL INFO comm 0x55 rank 3 nranks 16 cudaDev 3 busId c3000\n"
        "2026-11-01 12:00:00 WARNING: a table of 3 numbers 1 2 3\n\n";
    for (const char* tag : {"", "[1,0]<stdout>:", "[1,12]<stderr>: ", " 3: "}) {
        std::istringstream in{noise + kText + noise};
        std::string log;
        for (std::string line; std::getline(in, line);) {
            log += tag + line + "\n";
        }
        const auto imported = import_nccl_tests(log, "out.txt", {});
        ASSERT_TRUE(imported) << tag << imported.error().front().to_string();
        EXPECT_EQ(imported->profile.transfers, plain->profile.transfers) << tag;
    }
}

TEST(ImportNcclTests, TheCommandNamesTheTestWhereTheHeaderDoesNot) {
    const std::string table(std::string_view{kText}.substr(std::string_view{kText}.find('\n') + 1));
    for (const auto& [command, kind] :
         {std::pair{"./alltoall_perf -b 8", TransferKind::all_to_all},
          {"$ sendrecv_perf -g 2", TransferKind::send_recv},
          {"/opt/reduce_scatter_perf", TransferKind::reduce_scatter}}) {
        const auto imported = import_nccl_tests(std::string{command} + "\n" + table, "out.txt", {});
        ASSERT_TRUE(imported) << command;
        EXPECT_EQ(imported->profile.transfers[0].time.kind, kind) << command;
    }
    const auto later = import_nccl_tests(table + "# done: broadcast_perf\n", "out.txt", {});
    ASSERT_TRUE(later);
    EXPECT_EQ(later->profile.transfers[1].time.kind, TransferKind::broadcast);
    // Two tests in one log, and a third that no step uses.
    const auto both = import_nccl_tests(
        "all_gather_perf\n" + table + "reduce_perf\n" + table + std::string{kText}, "out.txt", {});
    ASSERT_TRUE(both);
    ASSERT_EQ(both->profile.transfers.size(), 4u);
    EXPECT_EQ(both->profile.transfers[0].time.kind, TransferKind::all_gather);
    EXPECT_EQ(both->profile.transfers[2].time.kind, TransferKind::all_reduce);
    EXPECT_EQ(both->profile.transfers[2].time.ranks, 2u);
    EXPECT_EQ(both->left_out, (std::vector<std::string>{"int8: 3 rows", "reduce_perf: 2 rows"}));
}

}  // namespace
}  // namespace orrery
