// SPDX-License-Identifier: Apache-2.0
// Each rule finds what it is for, and nothing in a small tidy tree.
#include "tests/tidy/rules.h"

#include <gtest/gtest.h>

namespace orrery::tidy {
namespace {

const std::string kSpdx =
    "// SPDX-"
    "License-Identifier: Apache-2.0\n";

std::vector<std::string> paths(const Findings& findings) {
    std::vector<std::string> all;
    for (const Finding& finding : findings) {
        all.push_back(finding.path);
    }
    return all;
}

using Paths = std::vector<std::string>;

SourceTree tidy_tree() {
    return {{{"engine/CMakeLists.txt", "add_library(orrery_engine mesh.cpp)\n"},
             {"engine/mesh.cpp", kSpdx + "#include \"engine/mesh.h\"\nint f() { return 1; }\n"},
             {"engine/mesh.h", kSpdx + "// A mesh.\n#pragma once\nint f();\n"},
             {"tests/engine/CMakeLists.txt", "orrery_test(engine_test SOURCES mesh_test.cpp)\n"},
             {"tests/engine/mesh_test.cpp", kSpdx + "#include \"engine/mesh.h\"\n"}}};
}

TEST(Rules, FindNothingInATidyTree) {
    EXPECT_EQ(paths(all_findings(tidy_tree())), Paths{});
}

TEST(Rules, IncludesPointDownwardsOnly) {
    const auto findings = [](const std::string& path, const std::string& include) {
        return include_direction({{{path, "#include \"" + include + "\"\n"}}}).size();
    };
    EXPECT_EQ(findings("engine/a.h", "network/b.h"), 1u);
    EXPECT_EQ(findings("network/a.h", "kernels/b.h"), 1u);
    EXPECT_EQ(findings("kernels/a.cu", "network/b.h"), 1u);
    EXPECT_EQ(findings("models/a.cpp", "runtime/b.h"), 1u);
    EXPECT_EQ(findings("runtime/a.cpp", "scenarios/b.h"), 1u);
    EXPECT_EQ(findings("scenarios/a.cpp", "tests/b.h"), 1u);
    EXPECT_EQ(findings("engine/a.cpp", "mesh.h"), 1u);
    EXPECT_EQ(findings("models/a.cpp", "network/b.h"), 0u);
    EXPECT_EQ(findings("scenarios/a.cpp", "runtime/b.h"), 0u);
    EXPECT_EQ(findings("tests/x/a.cpp", "scenarios/b.h"), 0u);
}

TEST(Rules, FloorsOfScenariosKnowLowerFloorsOnly) {
    const auto findings = [](const std::string& path, const std::string& include) {
        return floor_direction({{{path, "#include \"" + include + "\"\n"}}}).size();
    };
    EXPECT_EQ(findings("scenarios/format/read/a.cpp", "scenarios/studies/search/b.h"), 1u);
    EXPECT_EQ(findings("scenarios/studies/search/a.h", "scenarios/report/b.h"), 1u);
    EXPECT_EQ(findings("scenarios/report/a.cpp", "scenarios/program/b.h"), 1u);
    EXPECT_EQ(findings("scenarios/program/a.cpp", "scenarios/format/read/b.h"), 0u);
    EXPECT_EQ(findings("scenarios/report/a.cpp", "scenarios/studies/search/b.h"), 0u);
    EXPECT_EQ(findings("scenarios/format/read/a.cpp", "runtime/studies/b.h"), 0u);
    // Beside the floors there is no code, and nothing includes any.
    EXPECT_EQ(findings("scenarios/search/a.cpp", "engine/b.h"), 1u);
    EXPECT_EQ(findings("scenarios/a.cpp", "engine/b.h"), 1u);
    EXPECT_EQ(findings("scenarios/program/a.cpp", "scenarios/b.h"), 1u);
}

TEST(Rules, FoldersOfARoomHaveNoCycle) {
    const auto file = [](const std::string& path, const std::string& include) {
        return SourceFile{path, "#include \"" + include + "\"\n"};
    };
    const SourceFile down = file("scenarios/studies/search/a.h", "scenarios/studies/simulate/b.h");
    const SourceFile further = file("scenarios/studies/simulate/b.h", "scenarios/studies/c/c.h");
    const SourceFile back = file("scenarios/studies/c/c.cpp", "scenarios/studies/search/d.h");
    EXPECT_EQ(folder_cycle({{down, further}}).size(), 0u);
    EXPECT_EQ(paths(folder_cycle({{down, further, back}})),
              (Paths{"scenarios/studies/search/a.h",
                     "scenarios/studies/simulate/b.h",
                     "scenarios/studies/c/c.cpp"}));
    // Two rooms, and files of one folder, are no cycle of folders.
    EXPECT_EQ(folder_cycle({{file("scenarios/format/a.h", "engine/b.h"),
                             file("engine/b.h", "engine/c.h"),
                             file("engine/c.cpp", "engine/b.h")}})
                  .size(),
              0u);
}

TEST(Rules, FilesFunctionsAndLinesHaveLimits) {
    const auto lines = [](std::size_t count) {
        std::string text;
        for (std::size_t i = 0; i < count; ++i) {
            text += "f();\n";
        }
        return text;
    };
    EXPECT_EQ(file_length({{{"engine/a.cpp", lines(500)}}}).size(), 0u);
    EXPECT_EQ(file_length({{{"engine/a.cpp", lines(501)}}}).size(), 1u);
    EXPECT_EQ(command_length({{{"scenarios/program/a.cpp", lines(120)}}}).size(), 0u);
    EXPECT_EQ(command_length({{{"scenarios/program/a.cpp", lines(121)}}}).size(), 1u);
    EXPECT_EQ(command_length({{{"scenarios/report/a.cpp", lines(121)}}}).size(), 0u);
    const auto function = [&](std::size_t count) {
        return "void g() {\n" + lines(count - 2) + "}\n";
    };
    EXPECT_EQ(function_length({{{"engine/a.cpp", function(70)}}}).size(), 0u);
    EXPECT_EQ(function_length({{{"engine/a.cpp", function(71)}}}).size(), 1u);
    EXPECT_EQ(line_length({{{"engine/a.cpp", std::string(100, 'x')}}}).size(), 0u);
    EXPECT_EQ(line_length({{{"engine/a.cpp", "\n" + std::string(101, 'x')}}}).size(), 1u);
    EXPECT_EQ(line_length({{{"tests/CMakeLists.txt", std::string(101, 'x')}}}).size(), 1u);
    EXPECT_EQ(line_length({{{"README.md", std::string(101, 'x')}}}).size(), 0u);
}

TEST(Rules, SourcesCarryTheLicenceAndHeadersTheirGuard) {
    EXPECT_EQ(licence({{{"engine/a.h", "#pragma once\n" + kSpdx}}}).size(), 1u);
    EXPECT_EQ(licence({{{"orrery", "#!/bin/sh\nset -e\n"}}}).size(), 1u);
    EXPECT_EQ(pragma_once({{{"engine/a.h", kSpdx}, {"engine/b.cpp", kSpdx}}}).size(), 1u);
    EXPECT_EQ(paths(file_names({{{"engine/utils.h", ""}, {"engine/mesh.h", ""}}})),
              Paths{"engine/utils.h"});
}

TEST(Rules, AHeaderSaysWhatItIsFor) {
    const SourceFile silent{"engine/a.h", kSpdx + "#pragma once\n"};
    EXPECT_EQ(purpose({{silent, {"engine/b.cpp", kSpdx}}}).size(), 1u);
    const SourceFile said{"engine/a.h", kSpdx + "// Meshes of ranks.\n#pragma once\n"};
    EXPECT_EQ(purpose({{said}}).size(), 0u);
}

TEST(Rules, EverySourceHasATestAndAPlaceInTheBuild) {
    SourceTree tree = tidy_tree();
    tree.files.push_back({"engine/new.cpp", kSpdx});
    EXPECT_EQ(paths(mirrored_test(tree)), Paths{"engine/new.cpp"});
    EXPECT_EQ(paths(dead_source(tree)), Paths{"engine/new.cpp"});
    tree.files[0].text += "# new.cpp is not built\n";
    EXPECT_EQ(paths(dead_source(tree)), Paths{"engine/new.cpp"});
    tree.files[0].text += "add_library(x\n    new.cpp)\n";
    EXPECT_EQ(paths(dead_source(tree)), Paths{});
}

TEST(Rules, BigLibrariesHaveOneOwner) {
    const SourceFile yaml{"scenarios/format/a.cpp", "#include <yaml-cpp/yaml.h>\n"};
    EXPECT_EQ(third_party({{yaml}}).size(), 0u);
    EXPECT_EQ(third_party({{yaml, {"models/b.cpp", "#include <yaml-cpp/yaml.h>\n"}}}).size(), 2u);
    EXPECT_EQ(third_party({{{"engine/a.h", "#include <fmt/format.h>\n"}}}).size(), 1u);
    EXPECT_EQ(third_party({{{"engine/a.cpp", "#include <fmt/format.h>\n"}}}).size(), 0u);
}

TEST(Rules, CudaSourcesDoNotReachFmtEvenThroughHeaders) {
    const SourceFile header{"engine/a.h", "#include <fmt/format.h>\n"};
    const SourceFile middle{"kernels/b.h", "#include \"engine/a.h\"\n"};
    EXPECT_EQ(paths(cuda_reach({{header, middle, {"kernels/c.cu", "#include \"kernels/b.h\"\n"}}})),
              Paths{"kernels/c.cu"});
    EXPECT_EQ(cuda_reach({{header, middle, {"kernels/c.cu", "#include <vector>\n"}}}).size(), 0u);
}

TEST(Rules, NoFileNamesAMachinesFolders) {
    const std::string home = std::string{"/"} + "home/ada/data.csv";
    EXPECT_EQ(machine_path({{{"README.md", "see " + home + "\n"}}}).size(), 1u);
    EXPECT_EQ(machine_path({{{"README.md", "see https://x.org" + home + "\n"}}}).size(), 0u);
}

TEST(Rules, OnlyTheAssignmentOfLayoutsReadsParallelSizes) {
    const std::string reads = "int f() { return plan.tensor_model_parallel_size; }\n";
    EXPECT_EQ(parallel_size({{{"models/lowering.cpp", reads}}}).size(), 1u);
    EXPECT_EQ(parallel_size({{{"models/lowering.cpp", "// tensor_model_parallel_size\n"}}}).size(),
              0u);
    EXPECT_EQ(parallel_size({{{"models/plan/rank_mesh.cpp", reads}}}).size(), 0u);
    EXPECT_EQ(parallel_size({{{"models/plan/rank_mesh.cpp", ""}}}).size(), 1u);
}

TEST(Rules, OnlyRelayoutsEmitCollectivesAndCopies) {
    const std::string emits = "void f(SegmentBuilder& ops) { ops.collective(call, spec); }\n";
    const std::string copies = "void f(BlockBuilder& b) { b.ops.copy(call, spec); }\n";
    EXPECT_EQ(one_emitter({{{"models/lowering.cpp", emits}}}).size(), 1u);
    EXPECT_EQ(one_emitter({{{"models/lowering.cpp", copies}}}).size(), 1u);
    EXPECT_EQ(one_emitter({{{"models/segments/relayout.cpp", emits}}}).size(), 0u);
    EXPECT_EQ(one_emitter({{{"models/lowering.cpp", "x = program.collective(op).kind;\n"}}}).size(),
              0u);
}

TEST(Rules, NoTwoHeadersDefineOneType) {
    const auto header = [](std::string path, std::string code) {
        return SourceFile{std::move(path), "namespace orrery {\n" + std::move(code) + "}\n"};
    };
    const SourceFile world = header("engine/world.h", "class World {};\n");
    EXPECT_EQ(one_definition({{world, header("runtime/world.h", "struct World {\n};\n")}}).size(),
              1u);
    EXPECT_EQ(one_definition({{world, header("engine/execution.h", "class World;\n")}}).size(), 0u);
    EXPECT_EQ(one_definition({{world, {"a/b.h", "namespace orrery::cpu {\nclass World {};\n}\n"}}})
                  .size(),
              0u);
}

}  // namespace
}  // namespace orrery::tidy
