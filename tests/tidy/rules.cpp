// SPDX-License-Identifier: Apache-2.0
#include "tests/tidy/rules.h"

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "tests/tidy/cpp_text.h"

namespace orrery::tidy {

namespace {

constexpr std::size_t kFileLinesMax = 500;
constexpr std::size_t kCommandLinesMax = 120;
constexpr std::size_t kFunctionLinesMax = 70;
constexpr std::size_t kColumnsMax = 100;

using Names = std::set<std::string>;

// What each room may include of ours.
const std::map<std::string, Names>& may_include() {
    static const std::map<std::string, Names> rooms{
        {"engine", {"engine"}},
        {"network", {"engine", "network"}},
        {"kernels", {"engine", "kernels"}},
        {"models", {"engine", "network", "kernels", "models"}},
        {"runtime", {"engine", "network", "kernels", "models", "runtime"}},
        {"scenarios", {"engine", "network", "kernels", "models", "runtime", "scenarios"}},
    };
    return rooms;
}

bool in_a_room(const SourceFile& file) {
    return may_include().count(file.room()) > 0;
}

std::string at(std::size_t line, const std::string& what) {
    return "line " + std::to_string(line) + ": " + what;
}

std::string without_extension(const std::string& path) {
    return path.substr(0, path.rfind('.'));
}

std::string folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? std::string{} : path.substr(0, slash);
}

// "scenarios/studies/search/score.h": "studies"; empty for a file of the room's own folder.
std::string floor_of(const std::string& path) {
    const std::size_t begin = path.find('/') + 1;
    const std::size_t end = path.find('/', begin);
    return end == std::string::npos ? std::string{} : path.substr(begin, end - begin);
}

// Of a room, the folders that each folder includes.
using FolderArrows = std::map<std::string, Names>;
FolderArrows folder_arrows(const SourceTree& tree, const std::string& room) {
    FolderArrows arrows;
    for (const SourceFile& file : tree.files) {
        if (file.room() != room || !file.is_cpp()) {
            continue;
        }
        for (const Include& include : includes_of(file.text)) {
            if (include.path.starts_with(room + "/")) {
                arrows[folder_of(file.path)].insert(folder_of(include.path));
            }
        }
    }
    return arrows;
}

bool reaches(const FolderArrows& arrows, const std::string& from, const std::string& to) {
    Names seen{from};
    std::vector<std::string> open{from};
    while (!open.empty()) {
        const auto next = arrows.find(open.back());
        open.pop_back();
        for (const std::string& folder : next == arrows.end() ? Names{} : next->second) {
            if (folder == to) {
                return true;
            }
            if (seen.insert(folder).second) {
                open.push_back(folder);
            }
        }
    }
    return false;
}

// The words of a CMakeLists.txt, without comments.
Names words_of(const std::string& text) {
    Names words;
    for (std::string_view line : lines_of(text)) {
        line = line.substr(0, line.find('#'));
        static const std::regex word{R"re([^\s()"]+)re"};
        using Iterator = std::regex_iterator<std::string_view::const_iterator>;
        for (Iterator i{line.begin(), line.end(), word}; i != Iterator{}; ++i) {
            words.insert(i->str());
        }
    }
    return words;
}

// The library that an included file belongs to, if the rules name it.
std::string library_of(const Include& include) {
    for (const char* library : {"fmt", "spdlog", "yaml-cpp", "nlohmann", "CLI", "simgrid"}) {
        if (include.path.starts_with(std::string{library} + "/")) {
            return library;
        }
    }
    return {};
}

// The C++ files of a folder with more lines than that.
Findings longer_files(const SourceTree& tree,
                      const std::string& rule,
                      const std::string& folder,
                      std::size_t most) {
    Findings found;
    for (const SourceFile& file : tree.files) {
        const std::size_t lines = lines_of(file.text).size();
        if (file.is_cpp() && file.path.starts_with(folder) && lines > most) {
            found.push_back({rule, file.path, std::to_string(lines) + " lines"});
        }
    }
    return found;
}

}  // namespace

Findings include_direction(const SourceTree& tree) {
    Findings found;
    for (const SourceFile& file : tree.files) {
        if (!file.is_cpp()) {
            continue;
        }
        for (const Include& include : includes_of(file.text)) {
            const std::string room = SourceFile{.path = include.path, .text = {}}.room();
            const bool ours = may_include().count(room) > 0 || room == "tests";
            if (include.quoted && !ours) {
                found.push_back({"include_direction",
                                 file.path,
                                 "\"" + include.path + "\" does not begin at the root"});
            }
            const auto arrows = may_include().find(file.room());
            if (ours && arrows != may_include().end() && arrows->second.count(room) == 0) {
                found.push_back({"include_direction", file.path, "must not know " + include.path});
            }
        }
    }
    return found;
}

Findings floor_direction(const SourceTree& tree) {
    static const std::vector<std::string> floors{"format", "studies", "report", "program"};
    const auto level = [](const std::string& path) {
        return std::find(floors.begin(), floors.end(), floor_of(path)) - floors.begin();
    };
    const auto top = static_cast<std::ptrdiff_t>(floors.size());
    Findings found;
    for (const SourceFile& file : tree.files) {
        if (file.room() != "scenarios" || !file.is_cpp()) {
            continue;
        }
        const std::ptrdiff_t own = level(file.path);
        if (own == top) {
            found.push_back({"floor_direction", file.path, "lies on no floor"});
        }
        for (const Include& include : includes_of(file.text)) {
            if (include.path.starts_with("scenarios/") && level(include.path) > own) {
                found.push_back({"floor_direction", file.path, "must not know " + include.path});
            }
        }
    }
    return found;
}

Findings folder_cycle(const SourceTree& tree) {
    Findings found;
    for (const std::string room : {"engine", "network", "models", "scenarios"}) {
        const FolderArrows arrows = folder_arrows(tree, room);
        for (const SourceFile& file : tree.files) {
            if (file.room() != room || !file.is_cpp()) {
                continue;
            }
            const std::string own = folder_of(file.path);
            for (const Include& include : includes_of(file.text)) {
                const std::string folder = folder_of(include.path);
                if (include.path.starts_with(room + "/") && folder != own &&
                    reaches(arrows, folder, own)) {
                    found.push_back({"folder_cycle",
                                     file.path,
                                     include.path + " lies in a folder that includes this one's"});
                }
            }
        }
    }
    return found;
}

Findings file_length(const SourceTree& tree) {
    return longer_files(tree, "file_length", "", kFileLinesMax);
}

Findings command_length(const SourceTree& tree) {
    return longer_files(tree, "command_length", "scenarios/program/", kCommandLinesMax);
}

Findings function_length(const SourceTree& tree) {
    Findings found;
    for (const SourceFile& file : tree.files) {
        if (!file.is_cpp()) {
            continue;
        }
        for (const Function& function : functions_of(file.text)) {
            if (function.lines > kFunctionLinesMax) {
                found.push_back(
                    {"function_length",
                     file.path,
                     at(function.line, "a function of " + std::to_string(function.lines))});
            }
        }
    }
    return found;
}

Findings line_length(const SourceTree& tree) {
    Findings found;
    for (const SourceFile& file : tree.files) {
        const bool held =
            file.is_cpp() || file.path.ends_with("CMakeLists.txt") || file.text.starts_with("#!");
        const auto lines = held ? lines_of(file.text) : std::vector<std::string_view>{};
        for (std::size_t i = 0; i < lines.size(); ++i) {
            if (columns_of(lines[i]) > kColumnsMax) {
                found.push_back({"line_length",
                                 file.path,
                                 at(i + 1, std::to_string(columns_of(lines[i])) + " columns")});
            }
        }
    }
    return found;
}

Findings licence(const SourceTree& tree) {
    const std::string spdx = std::string{"SPDX-"} + "License-Identifier: Apache-2.0";
    Findings found;
    for (const SourceFile& file : tree.files) {
        const bool script = file.text.starts_with("#!");
        const auto lines = lines_of(file.text);
        const std::size_t due = script ? 1 : 0;
        const std::string expected = (script ? "# " : "// ") + spdx;
        if ((file.is_cpp() || script) && (lines.size() <= due || lines[due] != expected)) {
            found.push_back({"licence", file.path, at(due + 1, "is not " + expected)});
        }
    }
    return found;
}

namespace {

bool is_header(const SourceFile& file) {
    return file.extension() == ".h" || file.extension() == ".cuh";
}

}  // namespace

Findings pragma_once(const SourceTree& tree) {
    Findings found;
    for (const SourceFile& file : tree.files) {
        const auto lines = lines_of(file.text);
        if (is_header(file) && std::ranges::find(lines, "#pragma once") == lines.end()) {
            found.push_back({"pragma_once", file.path, "has no #pragma once"});
        }
    }
    return found;
}

Findings purpose(const SourceTree& tree) {
    Findings found;
    for (const SourceFile& file : tree.files) {
        const auto lines = lines_of(file.text);
        if (is_header(file) && (lines.size() < 2 || !lines[1].starts_with("// "))) {
            found.push_back({"purpose", file.path, at(2, "does not say what the file is for")});
        }
    }
    return found;
}

Findings file_names(const SourceTree& tree) {
    static const std::regex vague{R"((^|/)(common|utils?|misc|helpers?)\.(h|cpp|cu|cuh)$)"};
    Findings found;
    for (const SourceFile& file : tree.files) {
        if (std::regex_search(file.path, vague)) {
            found.push_back({"file_names", file.path, "is named for no concept"});
        }
    }
    return found;
}

Findings mirrored_test(const SourceTree& tree) {
    Findings found;
    for (const SourceFile& file : tree.files) {
        const std::string test = "tests/" + without_extension(file.path) + "_test.cpp";
        // The program itself is tested as a whole, in tests/program.
        const bool source = (file.extension() == ".cpp" || file.extension() == ".cu") &&
                            file.path != "scenarios/program/orrery.cpp";
        if (source && in_a_room(file) && tree.find(test) == nullptr) {
            found.push_back({"mirrored_test", file.path, "has no " + test});
        }
    }
    return found;
}

Findings dead_source(const SourceTree& tree) {
    std::map<std::string, Names> words;  // by folder
    for (const SourceFile& file : tree.files) {
        if (file.path.ends_with("CMakeLists.txt")) {
            words[folder_of(file.path)] = words_of(file.text);
        }
    }
    Findings found;
    for (const SourceFile& file : tree.files) {
        if (file.extension() != ".cpp" && file.extension() != ".cu") {
            continue;
        }
        bool named = false;
        for (std::string folder = folder_of(file.path); !named; folder = folder_of(folder)) {
            const std::size_t skip = folder.empty() ? 0 : folder.size() + 1;
            const std::string name = file.path.substr(skip);
            const auto list = words.find(folder);
            named = list != words.end() && (list->second.count(name) > 0 ||
                                            list->second.count(without_extension(name)) > 0);
            if (folder.empty()) {
                break;
            }
        }
        if (!named) {
            found.push_back({"dead_source", file.path, "is in no CMakeLists.txt"});
        }
    }
    return found;
}

Findings third_party(const SourceTree& tree) {
    static const std::map<std::string, std::size_t> owners_max{
        {"spdlog", 0}, {"yaml-cpp", 1}, {"nlohmann", 3}, {"CLI", 1}, {"simgrid", 1}};
    std::map<std::string, Names> owners;
    Findings found;
    for (const SourceFile& file : tree.files) {
        if (!file.is_cpp() || !in_a_room(file)) {
            continue;
        }
        for (const Include& include : includes_of(file.text)) {
            const std::string library = library_of(include);
            if (library.empty()) {
                continue;
            }
            // A report as JSON is made by the file that knows what it reports.
            if (library == "nlohmann" && file.extension() == ".cpp" &&
                file.path.starts_with("scenarios/report/")) {
                continue;
            }
            owners[library].insert(file.path);
            if (file.extension() != ".cpp") {
                found.push_back({"third_party", file.path, "spreads " + library});
            }
        }
    }
    for (const auto& [library, most] : owners_max) {
        if (owners[library].size() > most) {
            for (const std::string& path : owners[library]) {
                found.push_back({"third_party", path, "is one owner too many of " + library});
            }
        }
    }
    return found;
}

Findings cuda_reach(const SourceTree& tree) {
    Findings found;
    for (const SourceFile& file : tree.files) {
        if (file.extension() != ".cu" && file.extension() != ".cuh") {
            continue;
        }
        Names seen{file.path};
        std::vector<std::string> open{file.path};
        while (!open.empty()) {
            const SourceFile* here = tree.find(open.back());
            open.pop_back();
            for (const Include& include : here ? includes_of(here->text) : std::vector<Include>{}) {
                if (!library_of(include).empty()) {
                    found.push_back(
                        {"cuda_reach", file.path, "reaches " + include.path + " in " + here->path});
                }
                if (seen.insert(include.path).second) {
                    open.push_back(include.path);
                }
            }
        }
    }
    return found;
}

Findings machine_path(const SourceTree& tree) {
    // In pieces, so that this file is not a finding itself.
    static const std::regex absolute{std::string{R"((^|[\s"'=(:])/)"} +
                                     "(work/|root/|Users/|home/\\w)"};
    Findings found;
    for (const SourceFile& file : tree.files) {
        const auto lines = lines_of(file.text);
        for (std::size_t i = 0; i < lines.size(); ++i) {
            if (lines[i].find('/') != std::string_view::npos &&
                std::regex_search(lines[i].begin(), lines[i].end(), absolute)) {
                found.push_back({"machine_path", file.path, at(i + 1, "names a machine's folder")});
            }
        }
    }
    return found;
}

Findings all_findings(const SourceTree& tree) {
    Findings all;
    for (const auto rule : {include_direction,
                            floor_direction,
                            folder_cycle,
                            file_length,
                            command_length,
                            function_length,
                            line_length,
                            licence,
                            pragma_once,
                            purpose,
                            file_names,
                            mirrored_test,
                            dead_source,
                            third_party,
                            cuda_reach,
                            machine_path,
                            parallel_size,
                            one_emitter,
                            one_definition}) {
        const Findings found = rule(tree);
        all.insert(all.end(), found.begin(), found.end());
    }
    return all;
}

}  // namespace orrery::tidy
