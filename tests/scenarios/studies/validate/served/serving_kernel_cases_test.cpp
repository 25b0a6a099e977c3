// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/served/serving_kernel_cases.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/test_folder.h"

namespace orrery {
namespace {

constexpr const char* kHead =
    "case,family,gpu,kernel,variant,dtype,kv_dtype,m,n,k,batch,seq,kv_len,heads,kv_heads,head_dim,"
    "num_experts,topk,moe_tp,ep,distribution,num_gpus,size_bytes,time_us,power_w,source\n";

std::string table(const TestFolder& folder, const std::string& rows) {
    const std::string file = (folder / "kernels.csv").string();
    std::ofstream{file} << "# a comment\n" << kHead << rows;
    return file;
}

// DeepSeek-V3's experts have a scale per block of weights in the catalogue's table of models, and a
// layer that is wider by a row has not.
TEST(ServingKernelCases, ModelsSayWhichExpertsHaveBlockScales) {
    const TestFolder folder;
    const std::string file =
        table(folder,
              "s,f,h200,moe,vllm,fp8,,8192,2048,7168,,,,,,,256,8,1,8,balanced,,,1,,s\n"
              "w,f,h200,moe,vllm,fp8,,8192,2064,7168,,,,,,,256,8,1,8,balanced,,,1,,s\n");
    const auto cases = read_serving_kernel_cases(file).value();
    const TimedValidation validation =
        validate_serving_kernels(cases, ORRERY_SOURCE_DIR "/scenarios/catalogue").value();
    ASSERT_EQ(validation.rows.size(), 2U);
    EXPECT_GT(validation.rows[0].predicted_us, 1.2 * validation.rows[1].predicted_us);
}

// Bounds: weights, cached tokens and peer buffers at the full rates of an H100.
TEST(ServingKernelCases, KernelsArePricedByWhatTheyDo) {
    const TestFolder folder;
    const std::string file =
        table(folder,
              "g,f,h100-80g,gemm,v,bf16,,16,8192,8192,,,,,,,,,,,,,,1,,s\n"
              "d,f,h100-80g,decode_attention,v,bf16,bf16,,,,64,1,4096,64,8,128,,,,,,,,1,,s\n"
              "e,f,h100-80g,moe,v,bf16,,4096,14336,4096,,,,,,,8,2,4,1,balanced,,,1,,s\n"
              "z,f,h100-80g,moe,v,bf16,,4096,14336,4096,,,,,,,8,2,4,1,drawn,,,1,,s\n"
              "a,f,h100-80g,all_reduce,custom graph,bf16,,,,,,,,,,,,,,,,8,1048576,1,,s\n");
    EXPECT_TRUE(is_serving_kernel_table(file));
    const auto cases = read_serving_kernel_cases(file).value();
    const TimedValidation validation =
        validate_serving_kernels(cases, ORRERY_SOURCE_DIR "/scenarios/catalogue").value();
    ASSERT_EQ(validation.rows.size(), 4U);
    const double bounds_us[] = {8192.0 * 8192 * 2 / 3.35e6,
                                64 * 4096.0 * 2 * 8 * 128 * 2 / 3.35e6,
                                4096.0 * 2 * 6 * 4096 * 14336 / 4 / 989e6,
                                1.75 * (1 << 20) / 450e3};
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_GT(validation.rows[i].predicted_us, bounds_us[i]) << validation.rows[i].name;
        EXPECT_LT(validation.rows[i].predicted_us, 4 * bounds_us[i]) << validation.rows[i].name;
    }
    ASSERT_EQ(validation.skipped.size(), 1U);
    EXPECT_EQ(validation.skipped[0].reason, "tokens spread by drawn");
}

// Of 128 experts with unequal loads 2,048 tokens fill more tiles, and 16 tokens reach fewer of
// them.
TEST(ServingKernelCases, LoadsOfExpertsMayBeUnequal) {
    const TestFolder folder;
    const auto cases = read_serving_kernel_cases(
        table(folder,
              "e,f,h100-80g,moe,v,bf16,,2048,768,2048,,,,,,,128,8,1,1,balanced,,,1,,s\n"
              "z,f,h100-80g,moe,v,bf16,,2048,768,2048,,,,,,,128,8,1,1,zipf-1.2,,,1,,s\n"
              "f,f,h100-80g,moe,v,bf16,,16,768,2048,,,,,,,128,8,1,1,balanced,,,1,,s\n"
              "y,f,h100-80g,moe,v,bf16,,16,768,2048,,,,,,,128,8,1,1,zipf-1.2,,,1,,s\n"));
    const auto rows =
        validate_serving_kernels(cases.value(), ORRERY_SOURCE_DIR "/scenarios/catalogue")->rows;
    ASSERT_EQ(rows.size(), 4U);
    EXPECT_GT(rows[1].predicted_us, rows[0].predicted_us);
    EXPECT_LT(rows[3].predicted_us, rows[2].predicted_us);
}

TEST(ServingKernelCases, ATimeIsNeeded) {
    const TestFolder folder;
    const auto cases = read_serving_kernel_cases(
        table(folder, "g,f,h100-80g,gemm,v,bf16,,16,8,8,,,,,,,,,,,,,,0,,s\n"));
    ASSERT_FALSE(cases);
    EXPECT_EQ(cases.error().front().what, "sizes and time_us must be numbers above zero");
}

}  // namespace
}  // namespace orrery
