// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/tokenize.h"

#include <gtest/gtest.h>

#include "runtime/data/token_file.h"
#include "runtime/data/tokenizer.h"
#include "tests/scenarios/program/train_run.h"

namespace orrery {
namespace tokenize_test {

TEST(TokenizeCommand, MakesADatasetOfTexts) {
    const TestFolder folder;
    TokenizeArguments arguments;
    arguments.spec.texts = {folder.write("a.txt", text())};
    arguments.spec.output = (folder / "tokens").string();
    const CommandRun run = run_command([&] { return tokenize_command(arguments); });
    EXPECT_EQ(run.status, kExitOk) << run.err;
    EXPECT_NE(run.out.find("800 tokens, vocabulary 256"), std::string::npos) << run.out;
    folder.write("text.txt", text());
    const auto losses = [](const CommandRun& trained) {  // all but the times
        const std::size_t first = trained.out.find("lm loss");
        return trained.out.substr(first, trained.out.find("\nKernels") - first);
    };
    EXPECT_EQ(losses(train(folder, kScenario, {"job.dataset=tokens", "job.log_interval=4"})),
              losses(train(folder, kScenario, {"job.log_interval=4"})));
    arguments.spec.texts = {(folder / "nothing").string()};
    expect_error(run_command([&] { return tokenize_command(arguments); }), "no such file");
}

TEST(TokenizeCommand, LearnsAnEncodingOfTheTexts) {
    const TestFolder folder;
    TokenizeArguments arguments;
    arguments.spec.texts = {folder.write("a.txt", text())};
    arguments.spec.output = (folder / "tokens").string();
    arguments.spec.vocabulary = 300;
    const CommandRun run = run_command([&] { return tokenize_command(arguments); });
    EXPECT_EQ(run.status, kExitOk) << run.err;
    const Result<Tokens> tokens = Tokens::open(arguments.spec.output);
    ASSERT_TRUE(tokens) << tokens.error().to_string();
    const Result<Tokenizer> tokenizer = Tokenizer::find({{folder.path()}});
    ASSERT_TRUE(tokenizer);
    EXPECT_EQ(tokens->vocabulary(), tokenizer->vocabulary());
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; i < tokens->size(); ++i) {
        ids.push_back((*tokens)[i]);
    }
    EXPECT_EQ(tokenizer->decode(ids), text());
    EXPECT_LT(tokens->size(), 400);
    // The same encoding for another text, and none beside one of another vocabulary.
    arguments.spec.vocabulary = 0;
    arguments.spec.tokenizer = folder.path().string();
    arguments.spec.texts = {folder.write("b.txt", "or not?")};
    arguments.spec.output = (folder / "other").string();
    EXPECT_EQ(run_command([&] { return tokenize_command(arguments); }).status, kExitOk);
    arguments.spec.vocabulary = 257;
    expect_error(run_command([&] { return tokenize_command(arguments); }), "--tokenizer");
    arguments.spec.tokenizer.clear();
    expect_error(run_command([&] { return tokenize_command(arguments); }), "another vocabulary");
}

TEST(TokenizeCommand, ReplacesNoTextOfItsOwn) {
    const TestFolder folder;
    const auto run = [&](const std::string& text, const std::filesystem::path& output) {
        TokenizeArguments arguments;
        arguments.spec.texts = {text};
        arguments.spec.output = output.string();
        return run_command([&] { return tokenize_command(arguments); });
    };
    const std::string name = folder.write("a.txt", text());
    std::filesystem::create_directory(folder / "sub");
    std::filesystem::create_hard_link(name, folder / "same");
    for (const char* output : {"a.txt", "sub/../a.txt", "same"}) {
        expect_error(run(name, folder / output), "would replace the text");
    }
    TokenizeArguments learn;
    learn.spec.texts = {folder.write("merges.txt", text())};
    learn.spec.output = (folder / "t").string();
    learn.spec.vocabulary = 300;
    expect_error(run_command([&] { return tokenize_command(learn); }), "would replace the text");
    EXPECT_EQ(folder.text("a.txt"), text());
    EXPECT_EQ(folder.text("merges.txt"), text());
    // Neither a folder nor an empty file of tokens comes of a mistake.
    expect_error(run(name, folder / "none/x"), "does the folder exist");
    EXPECT_FALSE(std::filesystem::exists(folder / "none"));
    expect_error(run(folder.write("empty", ""), folder / "x"), "holds no text");
    EXPECT_FALSE(std::filesystem::exists(folder / "x"));
}

}  // namespace tokenize_test
}  // namespace orrery
