// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/import/shell_statements.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "scenarios/format/import/shell_script.h"

namespace orrery {
namespace {

using Texts = std::vector<std::string>;

LaunchCommand followed(const std::string& text) {
    const auto command = launch_command(text, "run.sh");
    EXPECT_TRUE(command) << command.error().front().to_string();
    return command ? *command : LaunchCommand{};
}

bool has_flag(const std::string& text, const char* flag) {
    const LaunchCommand command = followed(text);
    return std::ranges::find(command.words, flag, &CommandWord::text) != command.words.end();
}

TEST(ShellStatements, ConditionsDecideWhatIsTaken) {
    EXPECT_TRUE(
        has_flag("A=1\nif [ $A -eq 2 ]; then X=--a; elif [ $A -lt 2 ]; then X=--b; else "
                 "X=--c; fi\ntrain $X",
                 "--b"));
    EXPECT_TRUE(has_flag("[[ -z $UNSET ]] && X=--a || X=--b\ntrain $X", "--a"));
    EXPECT_TRUE(has_flag("(( 3 > 4 )) || X=--b\ntrain $X", "--b"));
    EXPECT_TRUE(has_flag("X=--a\n! true && X=--b\ntrain $X", "--a"));
    EXPECT_TRUE(has_flag("mkdir x || exit 1\ntrain --x", "--x"));
    EXPECT_FALSE(has_flag("exit 0\ntrain --x", "--x"));
    const LaunchCommand unknown = followed("[ -d /data ] && X=--a\ntrain --y $X");
    ASSERT_EQ(unknown.passed_over.size(), 1u);
    EXPECT_EQ(unknown.words.back().text, "${X}");
    EXPECT_EQ(unknown.words.back().where, "run.sh:2:11");
}

TEST(ShellStatements, LoopsCasesFilesAndHereDocumentsArePassedOver) {
    const LaunchCommand command = followed(R"(source env.sh
for i in 1 2; do
    if true; then X=--inside; fi
    while read line; do echo; done
done
case "$MODEL" in
    7b) LAYERS=32 ;;
    *) LAYERS=64 ;;
esac
cat > hosts <<EOF
it's (no shell text --at --all --here
EOF
cat <<- 'END' >> x
	'
	END
train --x $LAYERS &> log &
)");
    ASSERT_EQ(command.words.size(), 3u);
    EXPECT_EQ(command.words[2].text, "${LAYERS}");
    EXPECT_EQ(command.passed_over,
              (Texts{"run.sh:1:1: another file is read here: passed over",
                     "run.sh:2:1: 'for': passed over",
                     "run.sh:6:1: 'case': passed over"}));
}

}  // namespace
}  // namespace orrery
