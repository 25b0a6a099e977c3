// SPDX-License-Identifier: Apache-2.0
// Rows of tokens on their way to experts: how many each member of a group sends to each other one.
// Members are positions in the group, servers are runs of equally many members; experts are spread
// evenly over the members, in order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace orrery {

// The mean number of distinct groups that k different choices out of all experts hit, if there are
// `groups` of `experts` experts each and every choice is as likely as any other:
// groups (1 - C(all - experts, k) / C(all, k)).
double expected_groups_hit(std::uint32_t groups, std::uint32_t experts, std::uint32_t choices);

// A router without preferences.
struct UniformRouter {
    std::uint32_t ranks = 1;
    std::uint32_t servers = 1;  // of the group; divides ranks
    std::uint32_t experts = 1;  // of all ranks; ranks divides it
    std::uint32_t choices = 1;  // experts of a token
    // Servers at most on which a token's experts lie (node-limited routing); 0: all of them.
    std::uint32_t server_limit = 0;
    double tokens = 0;  // of a rank
};

// Rows by sender and receiver, own ones included. What data decide, a router or a trace counts;
// sums over a row of `choices` are tokens times choices.
struct RoutedRows {
    std::uint32_t ranks = 1;
    std::uint32_t servers = 1;
    std::vector<double> choices{};   // [from * ranks + to]: one for each expert of `to`
    std::vector<double> distinct{};  // [from * ranks + to]: one for each token
    std::vector<double> crossing{};  // [from * servers + server]: one for each token
    double tokens = 0;               // of a rank, the mean
    std::uint32_t experts = 0;       // of all ranks; 0: not known
};

RoutedRows expected_rows(const UniformRouter& router);

// What each member gets of it, in millionths of all rows: a member with twice the mean gets twice
// the rows of each sender, and no more than one row of each token where rows are sent once.
void scale_to_shares(RoutedRows& rows, std::span<const std::uint32_t> millionths);

}  // namespace orrery
