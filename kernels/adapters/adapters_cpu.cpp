// SPDX-License-Identifier: Apache-2.0
#include "kernels/adapters/adapters_cpu.h"

#include <algorithm>
#include <vector>

namespace orrery::cpu {

void check_adapters(const AdapterShape& s, const AdapterOperands& x) {
    ORRERY_CHECK(x.x.size == s.rows * s.k && x.y.size == s.rows * s.n);
    ORRERY_CHECK(x.numbers.dtype == Dtype::int32 && x.numbers.size == s.rows);
    ORRERY_CHECK(x.a.size == s.adapters * s.rank * s.k && x.b.size == s.adapters * s.rank * s.n);
}

void add_adapters(const AdapterShape& s, const AdapterOperands& x) {
    check_adapters(s, x);
    const auto numbers = ids(x.numbers);
    std::vector<float> row(static_cast<std::size_t>(s.k));
    std::vector<float> matrix(static_cast<std::size_t>(std::max(s.k, s.n)));
    std::vector<float> sums(static_cast<std::size_t>(s.n));
    for (std::int64_t r = 0; r < s.rows; ++r) {
        const std::int64_t number = numbers[static_cast<std::size_t>(r)];
        if (number < 0) {
            continue;
        }
        ORRERY_CHECK(number < s.adapters);
        load_row(x.x, r * s.k, row);
        std::ranges::fill(sums, 0.0f);
        for (std::int64_t i = 0; i < s.rank; ++i) {
            const std::int64_t place = number * s.rank + i;
            const std::span a{matrix.data(), static_cast<std::size_t>(s.k)};
            load_row(x.a, place * s.k, a);
            float inner = 0;
            for (std::size_t j = 0; j < a.size(); ++j) {
                inner += row[j] * a[j];
            }
            const std::span b{matrix.data(), static_cast<std::size_t>(s.n)};
            load_row(x.b, place * s.n, b);
            for (std::size_t j = 0; j < b.size(); ++j) {
                sums[j] += inner * b[j];
            }
        }
        for (std::int64_t j = 0; j < s.n; ++j) {
            const std::int64_t at = r * s.n + j;
            store(x.y, at, load(x.y, at) + sums[static_cast<std::size_t>(j)]);
        }
    }
}

}  // namespace orrery::cpu
