// SPDX-License-Identifier: Apache-2.0
// The rules that read C++ code rather than files and folders.
#include <map>
#include <regex>
#include <set>

#include "tests/tidy/cpp_text.h"
#include "tests/tidy/rules.h"

namespace orrery::tidy {

namespace {

using Names = std::set<std::string>;

}  // namespace

Findings parallel_size(const SourceTree& tree) {
    static const Names allowed{"models/blocks/expert_nodes.cpp",
                               "models/plan/expert_fields.h",
                               "models/plan/parallelism_fields.h",
                               "models/plan/pipeline_split.cpp",
                               "models/plan/plan.h",
                               "models/plan/rank_mesh.cpp",
                               "models/experts/router_load.cpp",
                               "models/serving/expert_exchange.cpp",
                               "models/serving/head_norms.cpp",
                               "models/serving/serving_context.cpp",
                               "models/serving/serving_plan.cpp",
                               "models/serving/serving_plan.h",
                               "models/serving/serving_step.cpp",
                               "models/plan/stage_parties.cpp",
                               "models/plan/validate_experts.cpp",
                               "models/plan/validate_long_context.cpp",
                               "models/plan/validate_offload.cpp",
                               "models/plan/validate_plan.cpp",
                               "models/plan/validate_plan.h",
                               "models/plan/validate_schedule.cpp"};
    static const std::regex size{R"(\w+_parallel_size\b)"};
    Findings found;
    for (const SourceFile& file : tree.files) {
        if (file.room() != "models" || !file.is_cpp()) {
            continue;
        }
        const std::string code = without_comments_and_literals(file.text);
        const bool reads = std::regex_search(code, size);
        if (reads && allowed.count(file.path) == 0) {
            found.push_back({"parallel_size", file.path, "reads a parallel size"});
        } else if (!reads && allowed.count(file.path) > 0) {
            found.push_back({"parallel_size", file.path, "may read parallel sizes needlessly"});
        }
    }
    return found;
}

Findings one_emitter(const SourceTree& tree) {
    static const Names allowed{"models/segments/relayout.cpp",
                               "models/segments/segment_builder.cpp"};
    static const std::regex emits{R"((ops|tables_?|tables\(\))\.(collective|copy)\()"};
    Findings found;
    for (const SourceFile& file : tree.files) {
        if (file.room() == "models" && file.is_cpp() && allowed.count(file.path) == 0 &&
            std::regex_search(without_comments_and_literals(file.text), emits)) {
            found.push_back({"one_emitter", file.path, "emits past models/segments/relayout.h"});
        }
    }
    return found;
}

Findings one_definition(const SourceTree& tree) {
    static const std::regex begins{
        R"(^(namespace ([\w:]+)|(struct|class|enum class) (\w+)(?=( [^;{]*)?(\{|$))))"};
    std::map<std::string, std::string> defined;  // by name: the header
    Findings found;
    for (const SourceFile& file : tree.files) {
        if (file.extension() != ".h" || file.room() == "tests") {
            continue;
        }
        std::string space;
        const std::string code = without_comments_and_literals(file.text);
        for (const std::string_view line : lines_of(code)) {
            std::match_results<std::string_view::const_iterator> match;
            if (!std::regex_search(line.begin(), line.end(), match, begins)) {
                continue;
            }
            if (match[2].matched) {
                space = match[2].str();
                continue;
            }
            const std::string name = space + "::" + match[4].str();
            const auto [first, added] = defined.try_emplace(name, file.path);
            if (!added && first->second != file.path) {
                found.push_back(
                    {"one_definition", file.path, name + " is also in " + first->second});
            }
        }
    }
    return found;
}

}  // namespace orrery::tidy
