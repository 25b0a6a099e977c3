// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/gemm_algorithms.h"

#include <unistd.h>

#include <fstream>
#include <iomanip>
#include <sstream>

namespace orrery {
namespace {

constexpr std::string_view kTitle = "orrery gemm algorithms 1";
constexpr std::size_t kDigits = 16;  // digits of a word

std::string hexadecimal(const std::array<std::uint64_t, 8>& words) {
    std::ostringstream out;
    out << std::hex << std::setfill('0');
    for (const std::uint64_t word : words) {
        out << std::setw(static_cast<int>(kDigits)) << word;
    }
    return out.str();
}

std::optional<std::array<std::uint64_t, 8>> words_of(const std::string& text) {
    std::array<std::uint64_t, 8> words{};
    if (text.size() != kDigits * words.size() ||
        text.find_first_not_of("0123456789abcdef") != std::string::npos) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < words.size(); ++i) {
        words[i] = std::stoull(text.substr(i * kDigits, kDigits), nullptr, 16);
    }
    return words;
}

Error damaged(const std::filesystem::path& file, int line) {
    return {file.string() + ":" + std::to_string(line),
            "this is not a line of measured gemm algorithms",
            "remove the file: it is measured again"};
}

}  // namespace

std::optional<GemmAlgorithm> GemmAlgorithms::find(const std::string& key) const {
    const auto found = algorithms_.find(key);
    return found == algorithms_.end() ? std::nullopt : std::optional{found->second};
}

void GemmAlgorithms::set(const std::string& key, const GemmAlgorithm& algorithm) {
    algorithms_[key] = algorithm;
}

Result<void> GemmAlgorithms::load(const std::filesystem::path& file) {
    std::ifstream in{file};
    if (!in) {
        return {};
    }
    std::string title;
    std::string device;
    std::string version;
    std::getline(in, title);
    std::getline(in, device);
    std::getline(in, version);
    if (title != kTitle || !device.starts_with("device ") || !version.starts_with("cublaslt ")) {
        return unexpected<Error>(damaged(file, 1));
    }
    if (device != "device " + device_ || version != "cublaslt " + version_) {
        return {};
    }
    std::map<std::string, GemmAlgorithm> read;
    std::string line;
    for (int number = 4; std::getline(in, line); ++number) {
        std::istringstream fields{line};
        std::string key;
        std::string digits;
        std::string more;
        GemmAlgorithm algorithm;
        fields >> key >> algorithm.nanoseconds >> digits;
        const auto words = words_of(digits);
        if (!fields || !words || fields >> more) {
            return unexpected<Error>(damaged(file, number));
        }
        algorithm.description = *words;
        read[key] = algorithm;
    }
    algorithms_ = std::move(read);
    return {};
}

Result<void> GemmAlgorithms::save(const std::filesystem::path& file) const {
    std::error_code error;
    if (file.has_parent_path()) {
        std::filesystem::create_directories(file.parent_path(), error);
    }
    // Several ranks of one machine may write at the same time: each writes its own file, and the
    // last rename wins.
    std::filesystem::path temporary = file;
    temporary += ".tmp" + std::to_string(getpid());
    {
        std::ofstream out{temporary};
        out << kTitle << "\ndevice " << device_ << "\ncublaslt " << version_ << "\n";
        for (const auto& [key, algorithm] : algorithms_) {
            out << key << ' ' << algorithm.nanoseconds << ' ' << hexadecimal(algorithm.description)
                << '\n';
        }
        out.close();
        if (!out) {
            std::filesystem::remove(temporary, error);
            return fail(file.string(), "can't be written");
        }
    }
    std::filesystem::rename(temporary, file, error);
    if (error) {
        return fail(file.string(), "can't be written: " + error.message());
    }
    return {};
}

}  // namespace orrery
