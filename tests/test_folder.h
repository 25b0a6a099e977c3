// SPDX-License-Identifier: Apache-2.0
// An empty folder of one test, removed with it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace orrery {

inline void write_text(const std::filesystem::path& path, const std::string& text) {
    std::ofstream{path, std::ios::binary} << text;
}
inline std::string read_text(const std::filesystem::path& path) {
    std::ostringstream all;
    all << std::ifstream{path, std::ios::binary}.rdbuf();
    return all.str();
}

class TestFolder {
public:
    TestFolder() {
        const auto* test = testing::UnitTest::GetInstance()->current_test_info();
        path_ = std::filesystem::path{testing::TempDir()} /
                (std::string{"orrery-"} + test->test_suite_name() + "-" + test->name());
        std::filesystem::remove_all(path_);
        std::filesystem::create_directories(path_);
    }
    ~TestFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TestFolder(const TestFolder&) = delete;
    TestFolder& operator=(const TestFolder&) = delete;

    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
    std::string write(const std::string& name, const std::string& text) const {
        write_text(path_ / name, text);
        return (path_ / name).string();
    }
    std::string text(const std::string& name) const { return read_text(path_ / name); }
    std::size_t num_files() const {
        return static_cast<std::size_t>(
            std::distance(std::filesystem::directory_iterator{path_}, {}));
    }

private:
    std::filesystem::path path_;
};

}  // namespace orrery
