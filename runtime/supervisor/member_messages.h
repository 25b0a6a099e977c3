// SPDX-License-Identifier: Apache-2.0
// Messages between the supervisor of a job and its members, one a line, through two pipes. A member
// is a process for one node: it waits for an order, trains with the rank given in the order, and
// waits for the next. `generation` counts the starts of the training; messages of an earlier
// generation are void.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

enum class OrderKind : std::uint8_t {
    go,     // train as `rank` of `num_ranks`
    leave,  // save a checkpoint before the next step, and stop
    quit,
    check,  // test this process and its connections, and report
};
inline constexpr std::size_t kNumOrderKinds = 4;

struct Order {
    OrderKind kind = OrderKind::go;
    std::uint32_t generation = 0;
    std::uint32_t rank = 0;
    std::uint32_t num_ranks = 1;
    std::string store{};                   // address of the ranks' store (communication/job.h)
    std::string checkpoint{};              // folder of the step to resume; empty: start anew
    std::vector<std::uint32_t> struck{};   // faults of the drill that were injected
    std::vector<std::uint32_t> lasting{};  // those at nodes that are not yet repaired
    bool operator==(const Order&) const = default;
};

enum class ReportKind : std::uint8_t {
    ready,  // waits for an order
    // Is alive; `number` 1: in an exchange, 0: computing; `text`: the message's tag, its peers
    // (rank_ranges()), and the work in words
    beat,
    // Has the state after `step`; connecting took `number` microseconds; `text`: its arrival at the
    // meeting in microseconds of the machine's steady clock, and the microseconds for drawing its
    // first weights
    training,
    fault,    // is about to inject fault `number` into itself
    step,     // has finished `step`, with `number` microseconds of computing and `text` sent bytes
    saved,    // saved a checkpoint of `step`
    unsaved,  // could not save a checkpoint: `text`
    left,     // stopped as ordered, after saving `step`
    // Stopped; `number` is the rank that did not answer, -1: its own error `text`, -2: an error of
    // another rank, -3: the loss or the gradient is not finite
    failed,
    done,     // finished all steps
    checked,  // tested as ordered; `text`: the ranks that are far from the median, and why
};
inline constexpr std::size_t kNumReportKinds = 11;

struct MemberReport {
    ReportKind kind = ReportKind::beat;
    std::uint32_t generation = 0;
    std::int64_t step = 0;
    std::int64_t number = 0;
    std::string text{};
    bool operator==(const MemberReport&) const = default;
};

// Ranks in ascending order, "0-3,7"; "-" for none. A very long list is cut off with "...".
std::string rank_ranges(std::vector<std::uint32_t> ranks);

// Without a line end; white space in texts becomes blanks.
std::string to_line(const Order& order);
std::string to_line(const MemberReport& report);
std::optional<Order> parse_order(std::string_view line);
std::optional<MemberReport> parse_report(std::string_view line);

}  // namespace orrery
