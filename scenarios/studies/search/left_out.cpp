// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/left_out.h"

#include <algorithm>

namespace orrery {

std::vector<std::pair<std::string, std::int64_t>> LeftOut::rows() const {
    std::vector<std::pair<std::string, std::int64_t>> rows{rules.begin(), rules.end()};
    for (const auto& [reason, plans] : {std::pair{"same plan", same_plan},
                                        {"memory", memory},
                                        {"deadline", deadline},
                                        {"budget", budget},
                                        {"bound", bound},
                                        {"slower without contention", slower},
                                        {"not simulated on the network", not_on_network},
                                        {"simulations ran out", ran_out},
                                        {"interrupted", interrupted}}) {
        if (plans > 0) {
            rows.emplace_back(reason, plans);
        }
    }
    return rows;
}

LeftOut& LeftOut::operator+=(const LeftOut& other) {
    for (const auto& [rule, plans] : other.rules) {
        rules[rule] += plans;
    }
    for (std::int64_t LeftOut::*count : {&LeftOut::same_plan,
                                         &LeftOut::memory,
                                         &LeftOut::deadline,
                                         &LeftOut::budget,
                                         &LeftOut::bound,
                                         &LeftOut::slower,
                                         &LeftOut::not_on_network,
                                         &LeftOut::ran_out,
                                         &LeftOut::interrupted}) {
        this->*count += other.*count;
    }
    least_memory = std::min(least_memory, other.least_memory);
    least_days = std::min(least_days, other.least_days);
    least_money = std::min(least_money, other.least_money);
    return *this;
}

std::int64_t LeftOut::total() const {
    std::int64_t sum = 0;
    for (const auto& [reason, plans] : rows()) {
        sum += plans;
    }
    return sum;
}

}  // namespace orrery
