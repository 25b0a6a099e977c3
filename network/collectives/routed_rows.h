// SPDX-License-Identifier: Apache-2.0
// Rows of tokens on their way to experts: the number that each member of a group sends to each
// other. Members are positions in the group; servers are runs of equal numbers of members; experts
// are spread evenly over the members, in order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace orrery {

// The expected number of distinct groups hit by k different choices among all experts, with
// `groups` groups of `experts` experts each and all choices equally likely: groups (1 - C(all -
// experts, k) / C(all, k)).
double expected_groups_hit(std::uint32_t groups, std::uint32_t experts, std::uint32_t choices);

// The same if the k choices are consecutive experts that begin after those of the token before:
// token t has the experts t k to t k + k - 1, modulo all experts. The mean over all tokens.
double consecutive_groups_hit(std::uint32_t groups, std::uint32_t experts, std::uint32_t choices);

// One of the two.
using GroupsHit = double (*)(std::uint32_t groups, std::uint32_t experts, std::uint32_t choices);
constexpr GroupsHit groups_hit(bool consecutive) {
    return consecutive ? consecutive_groups_hit : expected_groups_hit;
}

// A router without preferences.
struct UniformRouter {
    std::uint32_t ranks = 1;
    std::uint32_t servers = 1;  // servers of the group; divides ranks
    std::uint32_t experts = 1;  // of all ranks; a multiple of ranks
    std::uint32_t choices = 1;  // experts per token
    // The most servers with experts of one token (node-limited routing); 0: all of them.
    std::uint32_t server_limit = 0;
    bool consecutive = false;  // groups_hit()
    double tokens = 0;         // per rank
};

// Rows by sender and receiver, including rows to itself. Actual counts come from a router or a
// trace; the sum over a row of `choices` is tokens times choices.
struct RoutedRows {
    std::uint32_t ranks = 1;
    std::uint32_t servers = 1;
    std::vector<double> choices{};   // [from * ranks + to]: one per expert of `to`
    std::vector<double> distinct{};  // [from * ranks + to]: one per token
    std::vector<double> crossing{};  // [from * servers + server]: one per token
    double tokens = 0;               // mean per rank
    std::uint32_t experts = 0;       // of all ranks; 0: unknown
};

RoutedRows expected_rows(const UniformRouter& router);

// Scales the rows to each member's share of all rows, in millionths: a member with twice the mean
// gets twice the rows from each sender. If rows are sent once per token, it gets at most one row
// per token.
void scale_to_shares(RoutedRows& rows, std::span<const std::uint32_t> millionths);

}  // namespace orrery
