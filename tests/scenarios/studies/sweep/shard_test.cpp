// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/sweep/shard.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

namespace orrery {
namespace {

using Variables = std::map<std::string, std::string>;

void clear_environment() {
    for (const char* name : {"ID", "MIN", "MAX", "STEP", "COUNT"}) {
        unsetenv((std::string{"SLURM_ARRAY_TASK_"} + name).c_str());
    }
}

class Environment {
public:
    explicit Environment(const Variables& variables) {
        clear_environment();
        for (const auto& [name, value] : variables) {
            setenv(("SLURM_ARRAY_TASK_" + name).c_str(), value.c_str(), 1);
        }
    }
    ~Environment() { clear_environment(); }
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;
};

TEST(Shard, EveryPointIsInExactlyOne) {
    for (std::int64_t of = 1; of <= 9; ++of) {
        for (std::int64_t point = 0; point < 50; ++point) {
            int owners = 0;
            for (std::int64_t number = 1; number <= of; ++number) {
                owners += Shard{.number = number, .of = of}.has(point) ? 1 : 0;
            }
            EXPECT_EQ(owners, 1) << point << " of " << of;
        }
    }
}

TEST(Shard, IsWrittenAsNumberOfNumber) {
    EXPECT_EQ(parse_shard("3/64").value(), (Shard{3, 64}));
    for (const char* bad : {"",
                            "3",
                            "/",
                            "3/",
                            "/4",
                            "0/4",
                            "5/4",
                            "-1/4",
                            "1/0",
                            "1/4x",
                            "a/b",
                            "1/99999999999999999999"}) {
        EXPECT_FALSE(parse_shard(bad)) << bad;
    }
}

TEST(Shard, IsATaskOfASlurmArray) {
    {
        const Environment none{Variables{}};
        EXPECT_EQ(shard_of_environment().value(), (Shard{1, 1}));
    }
    {
        const Environment from_zero{
            Variables{{"ID", "5"}, {"MIN", "0"}, {"MAX", "63"}, {"COUNT", "64"}}};
        EXPECT_EQ(shard_of_environment().value(), (Shard{6, 64}));
    }
    {
        const Environment stepped{
            {{"ID", "7"}, {"MIN", "1"}, {"MAX", "7"}, {"STEP", "2"}, {"COUNT", "4"}}};
        EXPECT_EQ(shard_of_environment().value(), (Shard{4, 4}));
    }
}

TEST(Shard, AnArrayWithHolesIsNoSetOfShards) {
    const Environment holes{Variables{{"ID", "9"}, {"MIN", "1"}, {"MAX", "9"}, {"COUNT", "3"}}};
    const auto shard = shard_of_environment();
    ASSERT_FALSE(shard);
    EXPECT_NE(shard.error().what.find("evenly"), std::string::npos);
}

TEST(Shard, AVariableThatIsNoNumberIsAnError) {
    const Environment bad{Variables{{"ID", "x"}, {"COUNT", "3"}}};
    EXPECT_FALSE(shard_of_environment());
}

}  // namespace
}  // namespace orrery
