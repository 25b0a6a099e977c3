// SPDX-License-Identifier: Apache-2.0
// Every clone that this CPU can run gives the same bits: the loops of vector_math.h, the activation
// functions and the GEMM, on drawn sizes with remainders of every width.
#include "kernels/vector_clones.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "kernels/activation/activation_cpu.h"
#include "kernels/gemm/gemm_cpu.h"
#include "kernels/vector_math.h"
#include "tests/kernels/numeric.h"

namespace orrery {
namespace {

using numeric::Draw;
using numeric::Tensor;
using Bytes = std::vector<std::byte>;

// Restores the clone that was in use.
class WithClone {
public:
    explicit WithClone(VectorClone clone) : before_(vector_clone()) { use_vector_clone(clone); }
    WithClone(const WithClone&) = delete;
    WithClone& operator=(const WithClone&) = delete;
    ~WithClone() { use_vector_clone(before_); }

private:
    VectorClone before_;
};

void append(Bytes& bytes, const void* data, std::size_t size) {
    const std::size_t before = bytes.size();
    bytes.resize(before + size);
    std::memcpy(bytes.data() + before, data, size);
}

Bytes vector_math_bits(std::uint64_t seed) {
    Draw draw{seed};
    const std::int64_t n = draw.between(1, 150);
    Tensor x = draw.tensor(n, Dtype::fp32, -100, 100);
    Tensor y = draw.tensor(n, Dtype::fp32, -2, 2);
    Bytes bits;
    for (const float value : {sum(floats(x.view())),
                              dot(floats(x.view()), floats(y.view())),
                              maximum(floats(x.view()))}) {
        append(bits, &value, sizeof value);
    }
    add_to(floats(y.view()), floats(x.view()));
    append(bits, y.view().data, static_cast<std::size_t>(4 * n));
    const float total = exponentials(floats(x.view()), 3.0f);
    append(bits, &total, sizeof total);
    append(bits, x.view().data, static_cast<std::size_t>(4 * n));
    return bits;
}

Bytes activation_bits(std::uint64_t seed) {
    Draw draw{seed};
    const cpu::ActivationShape shape{.tokens = draw.between(1, 3), .ffn = draw.between(1, 40)};
    const Tensor x = draw.tensor(shape.tokens * 2 * shape.ffn, Dtype::fp32, -20, 20);
    const Tensor dy = draw.tensor(shape.tokens * shape.ffn, Dtype::fp32);
    Bytes bits;
    const auto keep = [&](const Tensor& result) {
        append(bits, result.view().data, static_cast<std::size_t>(4 * result.size()));
    };
    const ConstTensorView half = slice(x.view(), 0, shape.tokens * shape.ffn);
    for (const cpu::Ungated function : {cpu::Ungated::gelu, cpu::Ungated::squared_relu}) {
        Tensor y{shape.tokens * shape.ffn, Dtype::fp32};
        Tensor dx{shape.tokens * shape.ffn, Dtype::fp32};
        cpu::gelu_forward(shape, function, half, {}, y.view());
        cpu::gelu_backward(shape, function, dy.view(), half, {}, dx.view());
        keep(y);
        keep(dx);
    }
    Tensor dx{x.size(), Dtype::fp32};
    cpu::swiglu_backward(shape, cpu::Gated::swiglu, dy.view(), x.view(), {}, dx.view(), true);
    keep(dx);
    return bits;
}

Bytes gemm_bits(std::uint64_t seed) {
    Draw draw{seed};
    const cpu::GemmShape shape{
        .m = draw.between(1, 40), .n = draw.between(1, 70), .k = draw.between(1, 300)};
    const Dtype dtype = draw.coin() ? Dtype::fp32 : Dtype::bf16;
    const Tensor a = draw.tensor(shape.m * shape.k, dtype);
    const Tensor b = draw.tensor(shape.k * shape.n, dtype);
    Tensor c = draw.tensor(shape.m * shape.n, Dtype::fp32);
    cpu::gemm(shape, a.view(), b.view(), c.view(), {.accumulate = draw.coin()});
    Bytes bits;
    append(bits, c.view().data, static_cast<std::size_t>(4 * c.size()));
    return bits;
}

void expect_equal_bits(Bytes (*bits)(std::uint64_t seed)) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        Bytes baseline;
        for (const VectorClone clone : vector_clones()) {
            SCOPED_TRACE(std::string{to_string(clone)} + ", seed " + std::to_string(seed));
            const WithClone use{clone};
            ASSERT_EQ(vector_clone(), clone);
            if (clone == VectorClone::baseline) {
                baseline = bits(seed);
            } else {
                EXPECT_TRUE(bits(seed) == baseline);
            }
        }
    }
}

TEST(VectorClones, BeginWithTheBaselineAndUseTheWidest) {
    const std::vector<VectorClone> clones = vector_clones();
    ASSERT_FALSE(clones.empty());
    EXPECT_EQ(clones.front(), VectorClone::baseline);
    EXPECT_TRUE(std::is_sorted(clones.begin(), clones.end()));
    EXPECT_EQ(vector_clone(), clones.back());
}

[[gnu::noinline]] const void* caller() {
    return __builtin_return_address(0);
}

// Each clone is a function of its own: the place from which the body calls is another one.
TEST(VectorClones, RunTheCloneThatIsInUse) {
    std::set<const void*> places;
    const auto place = [](int distance) ORRERY_VECTORISED {
        return static_cast<const char*>(caller()) + distance;  // a sum behind it: no tail call
    };
    for (const VectorClone clone : vector_clones()) {
        const WithClone use{clone};
        places.insert(run_vectorised(place, 1));
    }
    EXPECT_EQ(places.size(), vector_clones().size());
}

TEST(VectorClones, GiveTheSameBitsOfSumsAndExponentials) {
    expect_equal_bits(vector_math_bits);
}
TEST(VectorClones, GiveTheSameBitsOfActivations) {
    expect_equal_bits(activation_bits);
}
TEST(VectorClones, GiveTheSameBitsOfProducts) {
    expect_equal_bits(gemm_bits);
}

}  // namespace
}  // namespace orrery
