// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/facts_report.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

const std::vector<Fact> kFacts{
    {"file", "a.csv", Unit::words}, {"rows", 12}, {"rate", 2.5, Unit::number}};

TEST(FactsReport, TheSameValuesInEveryForm) {
    EXPECT_EQ(facts_json(kFacts),
              "{\n  \"file\": \"a.csv\",\n  \"rows\": 12,\n  \"rate\": 2.5\n}\n");
    const Report report = facts_report("a.csv: 12 rows", kFacts);
    EXPECT_EQ(to_csv(report), "file,rows,rate\na.csv,12,2.5\n");
    EXPECT_NE(to_markdown(report).find("| rows | 12 |"), std::string::npos) << to_markdown(report);
}

}  // namespace
}  // namespace orrery
