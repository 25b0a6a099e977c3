// SPDX-License-Identifier: Apache-2.0
#include "tests/tidy/source_tree.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace orrery::tidy {

namespace fs = std::filesystem;

namespace {

bool is_left_out(const fs::path& folder) {
    const std::string name = folder.filename().string();
    return (name.starts_with('.') && name != ".ci") || name == "build" ||
           name.starts_with("build-") || name == "out" || fs::exists(folder / "CMakeCache.txt");
}

std::string text_of(const fs::path& file) {
    std::ostringstream text;
    text << std::ifstream{file, std::ios::binary}.rdbuf();
    return text.str();
}

}  // namespace

std::string SourceFile::room() const {
    const std::size_t slash = path.find('/');
    return slash == std::string::npos ? std::string{} : path.substr(0, slash);
}

std::string SourceFile::extension() const {
    return fs::path{path}.extension().string();
}

bool SourceFile::is_cpp() const {
    const std::string ending = extension();
    return ending == ".h" || ending == ".cpp" || ending == ".cu" || ending == ".cuh";
}

const SourceFile* SourceTree::find(const std::string& path) const {
    const auto found = std::find_if(
        files.begin(), files.end(), [&](const SourceFile& file) { return file.path == path; });
    return found == files.end() ? nullptr : &*found;
}

SourceTree read_tree(const fs::path& root) {
    SourceTree tree;
    fs::recursive_directory_iterator entry{root};
    for (; entry != fs::recursive_directory_iterator{}; ++entry) {
        if (entry->is_directory() && is_left_out(entry->path())) {
            entry.disable_recursion_pending();
        } else if (entry->is_regular_file() && !entry->is_symlink()) {
            tree.files.push_back({.path = entry->path().lexically_relative(root).generic_string(),
                                  .text = text_of(entry->path())});
        }
    }
    std::sort(tree.files.begin(), tree.files.end(), [](const auto& a, const auto& b) {
        return a.path < b.path;
    });
    return tree;
}

}  // namespace orrery::tidy
