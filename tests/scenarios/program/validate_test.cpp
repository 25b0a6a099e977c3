// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/validate.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "scenarios/program/exit_status.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

std::vector<std::string> fields_of(const std::string& line) {
    std::vector<std::string> fields;
    std::istringstream stream{line};
    for (std::string field; std::getline(stream, field, ',');) {
        fields.push_back(field);
    }
    return fields;
}

using Changes = std::map<std::string, std::string>;

// The table's first row as one server with a small model, and with these changes.
std::string header_line() {
    std::ifstream file{ORRERY_SOURCE_DIR "/scenarios/catalogue/published/training.csv"};
    std::string line;
    std::getline(file, line);
    return line + "\n";
}
std::string row_line(Changes changes) {
    std::ifstream file{ORRERY_SOURCE_DIR "/scenarios/catalogue/published/training.csv"};
    std::string header;
    std::string line;
    std::getline(file, header);
    std::getline(file, line);
    changes.merge(Changes{{"num_gpus", "8"},
                          {"num_layers", "2"},
                          {"pipeline_model_parallel_size", "1"},
                          {"virtual_pipeline_model_parallel_size", "1"},
                          {"global_batch_size", "2"}});
    const std::vector<std::string> names = fields_of(header);
    std::vector<std::string> fields = fields_of(line);
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto change = changes.find(names[i]);
        text += (i > 0 ? "," : "") + (change == changes.end() ? fields[i] : change->second);
    }
    return text + "\n";
}

CommandRun validate(const std::string& file, bool json = false, const std::string& family = {}) {
    ValidateArguments arguments;
    arguments.file = file;
    arguments.json = json;
    if (!family.empty()) {
        arguments.families = {family};
    }
    return run_command([&] { return validate_command(arguments); });
}

TEST(ValidateCommand, ComparesEveryRowAndSkipsWithAReason) {
    const TestFolder folder;
    const std::string file =
        folder.write("cases.csv",
                     header_line() + row_line({{"case", "A"}}) +
                         row_line({{"case", "B"}, {"features", "unheard_of"}}) +
                         row_line({{"case", "C"}, {"tensor_model_parallel_size", "7"}}));
    const CommandRun run = validate(file, true);
    ASSERT_EQ(run.status, kExitOk) << run.err;
    const auto json = nlohmann::json::parse(run.out);
    ASSERT_EQ(json["rows"].size(), 1U);
    EXPECT_EQ(json["rows"][0]["case"], "A");
    EXPECT_GT(json["rows"][0]["predicted_s"], 0);
    ASSERT_EQ(json["skipped"].size(), 2U);
    EXPECT_EQ(json["skipped"][1]["reason"],
              "plan.tensor_model_parallel_size 7 does not divide num_attention_heads 128");
    EXPECT_NE(validate(file).out.find("1 case simulated, 2 not expressible"), std::string::npos);
}

TEST(ValidateCommand, OnlyTheFamiliesThatAreAskedFor) {
    const TestFolder folder;
    const std::string file = folder.write(
        "cases.csv", header_line() + row_line({{"family", "one"}}) + row_line({{"family", "two"}}));
    const auto json = nlohmann::json::parse(validate(file, true, "two").out);
    ASSERT_EQ(json["rows"].size(), 1U);
    EXPECT_EQ(json["rows"][0]["family"], "two");
    const CommandRun unknown = validate(file, true, "twoo");
    EXPECT_EQ(unknown.status, kExitUserError);
    EXPECT_NE(unknown.err.find("no case is of family 'twoo' (hint: did you mean 'two'"),
              std::string::npos)
        << unknown.err;
}

// Only where a row's source does not state the column.
TEST(ValidateCommand, AnotherValueCanBeAssumed) {
    const TestFolder folder;
    const std::string file = folder.write("cases.csv",
                                          header_line() + row_line({{"case", "unstated"}}) +
                                              row_line({{"case", "stated"}, {"assumed", ""}}));
    const auto with = [&](std::vector<std::string> assume) {
        ValidateArguments arguments;
        arguments.file = file;
        arguments.json = true;
        arguments.assume = std::move(assume);
        return run_command([&] { return validate_command(arguments); });
    };
    const auto plain = nlohmann::json::parse(with({}).out);
    const auto other = nlohmann::json::parse(with({"gpu=a800-80g", "micro_batch_size=2"}).out);
    ASSERT_EQ(other["rows"].size(), 2U);
    const auto slower = nlohmann::json::parse(with({"gpu=a800-80g"}).out);
    EXPECT_GT(slower["rows"][0]["predicted_s"], plain["rows"][0]["predicted_s"]);  // less NVLink
    EXPECT_NE(other["rows"][0]["predicted_s"], slower["rows"][0]["predicted_s"]);
    EXPECT_EQ(other["rows"][1]["predicted_s"], plain["rows"][1]["predicted_s"]);
    EXPECT_EQ(other["overall"]["assumed_instead"].size(), 2U);
    for (const auto& [assume, error] : std::vector<std::pair<std::string, std::string>>{
             {"gpu", "'gpu' is no COLUMN=VALUE"},
             {"=1", "'=1' is no COLUMN=VALUE"},
             {"gpus=a100-80g", "no column 'gpus' (hint: did you mean 'gpus_per_node', 'gpu'"},
             {"num_layers=3", "every row states its 'num_layers'"},
             {"micro_batch_size=two", "micro_batch_size 'two' must be a whole number"}}) {
        const CommandRun run = with({assume});
        EXPECT_EQ(run.status, kExitUserError) << assume;
        EXPECT_EQ(run.out, "");
        EXPECT_NE(run.err.find(error), std::string::npos) << run.err;
    }
}

TEST(ValidateCommand, FailsIfNoCaseCanBeSimulated) {
    const TestFolder folder;
    const CommandRun run =
        validate(folder.write("cases.csv", header_line() + row_line({{"gpu", "a100-81g"}})));
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_NE(run.out.find("No case can be simulated."), std::string::npos);
    EXPECT_NE(run.out.find("a100-81g"), std::string::npos);
}

TEST(ValidateCommand, BrokenTablesAreErrorsAndPrintNoResult) {
    const TestFolder folder;
    const std::string header = header_line();
    std::string binary;
    for (int i = 0; i < 5'000; ++i) {
        binary += static_cast<char>(i * 7919 % 256);
    }
    for (const std::string& text : {std::string{},
                                    std::string{"\n\n"},
                                    header,
                                    binary,
                                    std::string(5'000, '\0'),
                                    std::string{"case,family\n"},
                                    header + "A,b\n",
                                    header + row_line({{"num_gpus", "many"}}),
                                    header + row_line({{"measured_iteration_s", "nan"}}),
                                    header + row_line({{"measured_iteration_s", "0"}}),
                                    header + row_line({{"precision", "bf61"}}),
                                    header + row_line({}) + row_line({{"num_gpus", "-8"}})}) {
        const CommandRun run = validate(folder.write("cases.csv", text));
        EXPECT_EQ(run.status, kExitUserError) << text.substr(0, 100);
        EXPECT_EQ(run.out, "");
        EXPECT_NE(run.err.find("cases.csv"), std::string::npos) << run.err;
    }
    for (const std::string& file : {folder.path().string(), (folder / "absent.csv").string()}) {
        EXPECT_EQ(validate(file).status, kExitUserError);
    }
}

TEST(ValidateCommand, LineEndsAndByteOrderMarksDoNotMatter) {
    const TestFolder folder;
    const std::string row = row_line({});
    const auto predicted = [&](const std::string& text) {
        const CommandRun run = validate(folder.write("cases.csv", text), true);
        EXPECT_EQ(run.status, kExitOk) << run.err;
        return nlohmann::json::parse(run.out)["rows"][0]["predicted_s"].get<double>();
    };
    const double expected = predicted(header_line() + row);
    std::string carriage = header_line() + row;
    for (std::size_t at = 0; (at = carriage.find('\n', at)) != std::string::npos; at += 2) {
        carriage.insert(at, "\r");
    }
    EXPECT_EQ(predicted(carriage), expected);
    EXPECT_EQ(predicted("\xef\xbb\xbf" + header_line() + row), expected);
    EXPECT_EQ(predicted(header_line() + row.substr(0, row.size() - 1)), expected);
}

TEST(ValidateCommand, TheBytesDoNotDependOnTheNumberOfJobs) {
    const TestFolder folder;
    std::string rows;
    for (int i = 0; i < 9; ++i) {
        rows += row_line({{"case", "case " + std::to_string(i)},
                          {"family", i % 2 == 0 ? "even" : "odd"},
                          {"num_layers", std::to_string(2 + i % 4)},
                          {"features", i == 4 ? "unheard_of" : ""}});
    }
    const std::string file = folder.write("cases.csv", header_line() + rows);
    const auto printed = [&](std::uint32_t jobs, bool json) {
        ValidateArguments arguments;
        arguments.file = file;
        arguments.json = json;
        arguments.jobs = jobs;
        return run_command([&] { return validate_command(arguments); }).out;
    };
    EXPECT_EQ(printed(1, false), printed(4, false));
    const auto without_wall_time = [&](std::uint32_t jobs) {
        auto json = nlohmann::json::parse(printed(jobs, true));
        for (auto& row : json["rows"]) {
            row.erase("wall_s");
        }
        EXPECT_EQ(json["rows"].size(), 8u);
        return json.dump();
    };
    EXPECT_EQ(without_wall_time(1), without_wall_time(4));
}

}  // namespace
}  // namespace orrery
