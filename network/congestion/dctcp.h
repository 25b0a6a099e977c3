// SPDX-License-Identifier: Apache-2.0
// DCTCP (Alizadeh et al., SIGCOMM 2010; RFC 8257) as RDMA rate control, with the values of the HPCC
// authors' simulator. It starts at line rate. alpha averages the share of marked ACKs per window.
// An episode of marks reduces the rate once by alpha/2; otherwise each window increases it by a
// constant. UecDctcp is UEC's variant without alpha (uet-htsim), a plain window.
#pragma once

#include "network/congestion/sample.h"

namespace orrery {

struct DctcpParameters {
    double gain = 1.0 / 16;                                        // RFC 8257
    Bandwidth increase = Bandwidth::bits_per_second(615'000'000);  // per window: 1 KB per 13 us
    Bandwidth rate_min = Bandwidth::bits_per_second(100'000'000);
};

class Dctcp {
public:
    Dctcp(const DctcpParameters& parameters, const PathInfo& path);

    void on_ack(const AckSample& ack);
    void on_nack(const NackSample& nack);
    void on_timeout(Time now, std::int64_t bytes);
    void on_timer(Time) {}
    Time next_timer() const { return Time::max(); }
    std::int64_t window() const;
    std::int64_t rate() const { return static_cast<std::int64_t>(rate_); }
    double alpha() const { return alpha_; }

private:
    void reduce(double factor, std::uint32_t sent);

    const DctcpParameters* parameters_;
    double line_;  // bit/s
    double rate_;
    std::int64_t bdp_;
    std::int64_t packet_;
    double alpha_ = 1;
    std::uint32_t acks_ = 0;
    std::uint32_t marked_ = 0;
    std::uint32_t window_end_ = 0;   // packet number
    std::uint32_t episode_end_ = 0;  // end of the reduction's episode
    bool first_window_ = true;
};

// + 1 packet per window of unmarked bytes, - 1/3 of the marked bytes, - the trimmed bytes.
class UecDctcp {
public:
    explicit UecDctcp(const PathInfo& path);

    void on_ack(const AckSample& ack);
    void on_nack(const NackSample& nack) { shrink(nack.bytes); }
    void on_timeout(Time, std::int64_t bytes) { shrink(bytes); }
    void on_timer(Time) {}
    Time next_timer() const { return Time::max(); }
    std::int64_t window() const { return window_; }
    std::int64_t rate() const { return kUnlimited; }

private:
    void shrink(std::int64_t bytes);

    std::int64_t packet_;
    std::int64_t window_;
};

}  // namespace orrery
