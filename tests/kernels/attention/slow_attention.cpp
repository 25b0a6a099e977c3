// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/attention/slow_attention.h"

#include <cmath>

namespace orrery::cpu {
namespace {

using numeric::Doubles;

// Places of a vector of head_dim numbers.
class Places {
public:
    explicit Places(const AttentionShape& s) : s_(s) {}
    std::size_t query(std::int64_t i, std::int64_t b, std::int64_t h) const {
        return static_cast<std::size_t>(((i * s_.batch + b) * s_.heads + h) * s_.head_dim);
    }
    std::size_t key(std::int64_t j, std::int64_t b, std::int64_t h) const {
        return static_cast<std::size_t>(
            ((j * s_.batch + b) * 2 * s_.kv_heads + h * s_.kv_heads / s_.heads) * s_.head_dim);
    }
    std::size_t value(std::int64_t j, std::int64_t b, std::int64_t h) const {
        return key(j, b, h) + static_cast<std::size_t>(s_.kv_heads * s_.head_dim);
    }

private:
    const AttentionShape& s_;
};

double vector_product(const AttentionShape& s,
                      const Doubles& x,
                      std::size_t at_x,
                      const Doubles& y,
                      std::size_t at_y) {
    double sum = 0;
    for (std::size_t c = 0; c < static_cast<std::size_t>(s.head_dim); ++c) {
        sum += x[at_x + c] * y[at_y + c];
    }
    return sum;
}

void add_multiple(const AttentionShape& s,
                  double factor,
                  const Doubles& x,
                  std::size_t at_x,
                  Doubles& y,
                  std::size_t at_y) {
    for (std::size_t c = 0; c < static_cast<std::size_t>(s.head_dim); ++c) {
        y[at_y + c] += factor * x[at_x + c];
    }
}

bool sees(const AttentionShape& s, std::int64_t query, std::int64_t key) {
    const std::int64_t last = s.seq_kv - s.seq_q + query;
    return !s.causal || (key <= last && (s.window == 0 || key > last - s.window));
}

struct Row {
    Doubles probabilities;
    double log_sum_exp;
};

Row row_of(const AttentionShape& s,
           const Doubles& q,
           const Doubles& kv,
           std::int64_t i,
           std::int64_t b,
           std::int64_t h) {
    const Places places{s};
    Row row{Doubles(static_cast<std::size_t>(s.seq_kv), 0.0), 0};
    double sum = 0;
    for (std::int64_t j = 0; j < s.seq_kv; ++j) {
        const double score = vector_product(s, q, places.query(i, b, h), kv, places.key(j, b, h)) /
                             std::sqrt(static_cast<double>(s.head_dim));
        const double e = sees(s, i, j) ? std::exp(score) : 0.0;
        row.probabilities[static_cast<std::size_t>(j)] = e;
        sum += e;
    }
    for (double& p : row.probabilities) {
        p /= sum;
    }
    row.log_sum_exp = std::log(sum);
    return row;
}

template <class Work>
void for_rows(const AttentionShape& s, const Work& work) {
    for (std::int64_t i = 0; i < s.seq_q; ++i) {
        for (std::int64_t b = 0; b < s.batch; ++b) {
            for (std::int64_t h = 0; h < s.heads; ++h) {
                work(i, b, h);
            }
        }
    }
}

}  // namespace

SlowAttention slow_attention(const AttentionShape& s, const Doubles& q, const Doubles& kv) {
    const Places places{s};
    SlowAttention result{Doubles(q.size(), 0.0), {}};
    for_rows(s, [&](std::int64_t i, std::int64_t b, std::int64_t h) {
        const Row row = row_of(s, q, kv, i, b, h);
        result.log_sum_exp.push_back(row.log_sum_exp);
        for (std::int64_t j = 0; j < s.seq_kv; ++j) {
            add_multiple(s,
                         row.probabilities[static_cast<std::size_t>(j)],
                         kv,
                         places.value(j, b, h),
                         result.output,
                         places.query(i, b, h));
        }
    });
    return result;
}

SlowGradients slow_attention_gradients(const AttentionShape& s,
                                       const Doubles& q,
                                       const Doubles& kv,
                                       const Doubles& doutput) {
    const Places places{s};
    const double scale = 1 / std::sqrt(static_cast<double>(s.head_dim));
    SlowGradients result{Doubles(q.size(), 0.0), Doubles(kv.size(), 0.0)};
    for_rows(s, [&](std::int64_t i, std::int64_t b, std::int64_t h) {
        const Row row = row_of(s, q, kv, i, b, h);
        const std::size_t query = places.query(i, b, h);
        Doubles dp;
        double mean = 0;
        for (std::int64_t j = 0; j < s.seq_kv; ++j) {
            dp.push_back(vector_product(s, doutput, query, kv, places.value(j, b, h)));
            mean += row.probabilities[dp.size() - 1] * dp.back();
        }
        for (std::int64_t j = 0; j < s.seq_kv; ++j) {
            const double p = row.probabilities[static_cast<std::size_t>(j)];
            const double ds = p * (dp[static_cast<std::size_t>(j)] - mean) * scale;
            add_multiple(s, p, doutput, query, result.kv, places.value(j, b, h));
            add_multiple(s, ds, kv, places.key(j, b, h), result.q, query);
            add_multiple(s, ds, q, query, result.kv, places.key(j, b, h));
        }
    });
    return result;
}

}  // namespace orrery::cpu
