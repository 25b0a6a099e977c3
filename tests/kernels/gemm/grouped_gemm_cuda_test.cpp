// SPDX-License-Identifier: Apache-2.0
// Which products the library is asked for, without one.
#include "kernels/gemm/grouped_gemm_cuda.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <utility>
#include <vector>

namespace orrery {
namespace {

class RecordedGemm final : public CudaGemm {
public:
    Result<void> prepare(const GemmRequest& request,
                         const GemmPointers& pointers,
                         CUstream_st*) override {
        prepared.emplace_back(request, pointers);
        return {};
    }
    Result<void> run(const GemmRequest& request,
                     const GemmPointers& pointers,
                     CUstream_st*) override {
        ran.emplace_back(request, pointers);
        return ran.size() == fails_at ? Result<void>{fail("", "no")} : Result<void>{};
    }
    std::optional<std::int64_t> remembered(const std::string&) const override { return {}; }
    void remember(const std::string&, std::int64_t) override {}
    Result<void> save() override { return {}; }
    std::string version() const override { return ""; }
    std::size_t measured() const override { return 0; }

    std::vector<std::pair<GemmRequest, GemmPointers>> prepared;
    std::vector<std::pair<GemmRequest, GemmPointers>> ran;
    std::size_t fails_at = 0;
};

TEST(GroupedGemmCuda, OneProductForEachGroupWithRows) {
    std::vector<std::byte> a(4096);
    std::vector<std::byte> b(4096);
    std::vector<std::byte> c(4096);
    const GemmPointers pointers{.a = a.data(), .b = b.data(), .c = c.data()};
    const GemmRequest request{.n = 8, .k = 4, .out = Dtype::fp32, .transpose_b = true};
    const std::vector<std::int64_t> rows{2, 0, 3};
    RecordedGemm gemm;
    ASSERT_TRUE(run_grouped_gemm(gemm, request, rows, pointers, nullptr));
    ASSERT_EQ(gemm.ran.size(), 2u);
    EXPECT_EQ(gemm.ran[0].first.m, 2);
    EXPECT_EQ(gemm.ran[0].second.a, a.data());
    EXPECT_EQ(gemm.ran[1].first.m, 3);
    EXPECT_TRUE(gemm.ran[1].first.transpose_b);
    EXPECT_EQ(gemm.ran[1].second.a, a.data() + 2 * 4 * 2);
    EXPECT_EQ(gemm.ran[1].second.b, b.data() + 2 * 4 * 8 * 2);
    EXPECT_EQ(gemm.ran[1].second.c, c.data() + 2 * 8 * 4);
    ASSERT_TRUE(prepare_grouped_gemm(gemm, request, rows, pointers, nullptr));
    EXPECT_EQ(gemm.prepared.size(), 2u);
}

TEST(GroupedGemmCuda, TheFirstFailureEndsIt) {
    RecordedGemm gemm;
    gemm.fails_at = 2;
    const std::vector<std::int64_t> rows{1, 1, 1};
    std::vector<std::byte> memory(1024);
    const GemmPointers pointers{.a = memory.data(), .b = memory.data(), .c = memory.data()};
    EXPECT_FALSE(run_grouped_gemm(gemm, {.n = 4, .k = 4}, rows, pointers, nullptr));
    EXPECT_EQ(gemm.ran.size(), 2u);
}

}  // namespace
}  // namespace orrery
