// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/import/shell_script.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace orrery {
namespace {

using Texts = std::vector<std::string>;

LaunchCommand launch(const std::string& text) {
    const auto command = launch_command(text, "run.sh");
    EXPECT_TRUE(command) << command.error().front().to_string();
    return command ? *command : LaunchCommand{};
}

Texts words(const std::string& text) {
    Texts all;
    for (const CommandWord& word : launch(text).words) {
        all.push_back(word.text);
    }
    return all;
}

TEST(ShellScript, APastedCommandLineIsItself) {
    EXPECT_EQ(words("torchrun # how\n a\\\n  --x 'one two' \"\" b\\ c\n"),
              (Texts{"a", "--x", "one two", "", "b c"}));
    EXPECT_EQ(words("train --x \\\n   --y=1 2>&1 | tee --append log"),
              (Texts{"train", "--x", "--y=1"}));
    EXPECT_EQ(words("train --x \\\r\n   --y\r\n"), (Texts{"train", "--x", "--y"}));
    EXPECT_TRUE(words("").empty());
    EXPECT_TRUE(words("# --comment\n").empty());
}

// Arrays, variables set above, comments inside arrays and a condition on a variable.
constexpr const char* kArrays = R"sh(#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
NODES=${SLURM_NNODES:-4}   # of the cluster
WORLD=$(($GPUS_PER_NODE*$NODES))
OUT=${1:-"out/run"}
DTYPE="fp8"
mkdir -p "$(dirname "$OUT")"

LAUNCH=(
    --nproc_per_node $GPUS_PER_NODE
    --nnodes $NODES
)
MODEL=(
    --num-layers 32 # deep
#    --moe-grouped-gemm
    --hidden-size 4096 \
    #--rotary-base 10000 \
    --seq-length 8192
)
EXTRA=()
if [[ "$DTYPE" == "fp8" ]]; then
    EXTRA+=(
        "--fp8-format hybrid"
    )
else
    EXTRA+=(--bf16)
fi
if [ -n "${WANDB_KEY}" ]; then
    EXTRA+=(--wandb-project x)
fi
MODEL+=("${EXTRA[@]}")
if [ ! -f "$SCRIPT" ]; then
    echo "no script"
    exit 1
fi
torchrun ${LAUNCH[@]} pretrain_gpt.py \
    ${MODEL[@]} \
    --save "$OUT"
set +x
)sh";

TEST(ShellScript, ArraysAndConditionsAreFollowed) {
    const LaunchCommand command = launch(kArrays);
    EXPECT_EQ(words(kArrays),
              (Texts{"torchrun",
                     "--nproc_per_node",
                     "8",
                     "--nnodes",
                     "4",
                     "pretrain_gpt.py",
                     "--num-layers",
                     "32",
                     "--hidden-size",
                     "4096",
                     "--seq-length",
                     "8192",
                     "--fp8-format",
                     "hybrid",
                     "--save",
                     "out/run"}));
    ASSERT_EQ(command.words.size(), 16u);
    EXPECT_EQ(command.words[2].where, "run.sh:3:15");    // where the value stands
    EXPECT_EQ(command.words[6].where, "run.sh:15:5");    // --num-layers
    EXPECT_EQ(command.words[13].where, "run.sh:24:23");  // hybrid
    EXPECT_EQ(command.words[14].where, "run.sh:39:5");
    EXPECT_EQ(command.passed_over,
              (Texts{"run.sh:8:11: the output of a command: only a shell knows $(dirname \"$OUT\")",
                     "run.sh:33:1: 'if' depends on what only a shell knows: passed over"}));
}

TEST(ShellScript, FlagsInStringsAreSplitAtBlanks) {
    const std::string script = R"(cp a.py ./b/
GPUS=2
GPT_ARGS="--num-layers 24 \
          --hidden-size 1024 \
          --num-workers 0"
cd b
OMP_NUM_THREADS=4 python -m torch.distributed.launch --nproc_per_node $GPUS \
       pretrain.py $GPT_ARGS \
       --tensor-model-parallel-size ${GPUS}\
       --DDP-impl torch

# python \
#    --nproc_per_node 1
cd ..
)";
    EXPECT_EQ(words(script),
              (Texts{"python",
                     "-m",
                     "torch.distributed.launch",
                     "--nproc_per_node",
                     "2",
                     "pretrain.py",
                     "--num-layers",
                     "24",
                     "--hidden-size",
                     "1024",
                     "--num-workers",
                     "0",
                     "--tensor-model-parallel-size",
                     "2",
                     "--DDP-impl",
                     "torch"}));
    EXPECT_EQ(launch(script).words[9].where, "run.sh:4:25");
}

TEST(ShellScript, WhatAnotherShellIsGivenIsFollowed) {
    const char* script = R"(options=" --num-layers 8 \
    --bf16 "
run_cmd="python -u pretrain_gpt.py ${options}"
srun -l --container-image /x.sqsh --output=%x.log sh -c "${run_cmd}"
)";
    EXPECT_EQ(words(script),
              (Texts{"python", "-u", "pretrain_gpt.py", "--num-layers", "8", "--bf16"}));
    EXPECT_EQ(words("C='train --x $N'\nN=3\neval $C"), (Texts{"train", "--x", "3"}));
    EXPECT_EQ(words("run() { train --x $N; }\nN=3\nrun a b"), (Texts{"train", "--x", "3"}));
    EXPECT_EQ(words("usage() { echo --help; exit 1; }\nfunction f {\n return 1\n}\nf\ntrain --x"),
              (Texts{"train", "--x"}));
}

TEST(ShellScript, AFileOfVariablesAloneHasItsFlagsThere) {
    EXPECT_EQ(words("A=(--x 1)\nB=\"--y 2\"\nC=3\n"), (Texts{"--x", "1", "--y", "2"}));
}

TEST(ShellScript, MistakesAreOneErrorAtTheirPlace) {
    for (const auto& [text, place] : {std::pair{"a\n  'b", "run.sh:2:3"},
                                      {"x=1\nA=(\n--x", "run.sh:2:3"},
                                      {"if true; then x", "run.sh:1:1"},
                                      {"a\n( b", "run.sh:2:1"},
                                      {"for x in a; do", "run.sh:1:1"},
                                      {"train --x (y)", "run.sh:1:11"}}) {
        const auto command = launch_command(text, "run.sh");
        ASSERT_FALSE(command) << text;
        ASSERT_EQ(command.error().size(), 1u) << text;
        EXPECT_EQ(command.error().front().where, place) << text;
    }
    EXPECT_FALSE(launch_command(std::string{"a\0b", 3}, "run.sh"));
}

TEST(ShellScript, EndlessScriptsEnd) {
    EXPECT_FALSE(launch_command("f() { f; }\nf", "run.sh"));
    EXPECT_FALSE(launch_command("X='eval \"$X\"'\neval \"$X\"", "run.sh"));
    EXPECT_FALSE(launch_command(
        "A=xxxxxxxxxxxxxxxx\n" +
            [] {
                std::string lines;
                for (int i = 0; i < 60; ++i) {
                    lines += "A=$A$A\n";
                }
                return lines;
            }(),
        "run.sh"));
    EXPECT_FALSE(launch_command(std::string(100'000, '('), "run.sh"));
    for (const char* odd :
         {"|",  "||",  "&&", ")",  "}", "fi",       ";;", "<", "> ",  "{",      "[[",
          "((", "x=(", "$",  "${", "`", "function", "if", "!", "[ ]", "a b() c"}) {
        static_cast<void>(launch_command(odd, "run.sh"));
        static_cast<void>(launch_command(std::string{odd} + "\ntrain --x\n", "run.sh"));
    }
}

}  // namespace
}  // namespace orrery
