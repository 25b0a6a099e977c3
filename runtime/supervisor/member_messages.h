// SPDX-License-Identifier: Apache-2.0
// What the supervisor of a job and its members tell each other, a line each, through two pipes.
// A member is a process that stands for a node: it waits for an order, trains as the rank that the
// order names, and waits for the next one. `generation` counts starts of the training: what is said
// of an earlier one is void.
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
    check,  // test yourself and the connections with the others, and tell
};
inline constexpr std::size_t kNumOrderKinds = 4;

struct Order {
    OrderKind kind = OrderKind::go;
    std::uint32_t generation = 0;
    std::uint32_t rank = 0;
    std::uint32_t num_ranks = 1;
    std::string store{};                  // where the ranks meet (communication/job.h)
    std::string checkpoint{};             // folder of the step to go on from; empty: from the start
    std::vector<std::uint32_t> struck{};  // faults of the drill that have been injected
    std::vector<std::uint32_t> lasting{};  // the ones at nodes that are not repaired yet
    bool operator==(const Order&) const = default;
};

enum class ReportKind : std::uint8_t {
    ready,     // waits for an order
    beat,      // is alive; `number` 1: inside an exchange, 0: computing; `text`: the message's tag,
               // its peers (rank_ranges()), what it is in words
    training,  // has the state after `step`, and met the others in `number` microseconds; `text`:
               // when it came to the meeting, in microseconds of the machine's steady clock, and
               // for how many microseconds it drew its first weights
    fault,     // is about to inject fault `number` into itself
    step,      // has done `step`, computing for `number` microseconds and sending `text` bytes
    saved,     // a checkpoint of `step`
    unsaved,   // a checkpoint that could not be written: `text`
    left,      // has stopped as ordered, after saving `step`
    failed,    // has stopped; `number`: the rank that did not answer, -1: its own error `text`,
               // -2: because of another rank's, or -3: the loss or the gradient is not a number
    done,      // all steps
    checked,   // as ordered; `text`: the ranks that are far from the median, and why
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

// Ranks in ascending order, "0-3,7"; "-" for none. Of very many ranges the first ones and "...".
std::string rank_ranges(std::vector<std::uint32_t> ranks);

// Without the end of the line; white space in texts becomes blanks.
std::string to_line(const Order& order);
std::string to_line(const MemberReport& report);
std::optional<Order> parse_order(std::string_view line);
std::optional<MemberReport> parse_report(std::string_view line);

}  // namespace orrery
