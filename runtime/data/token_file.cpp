// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/token_file.h"

#include <array>
#include <bit>
#include <cstring>
#include <fstream>

#include "engine/base/check.h"
#include "runtime/data/mapped_file.h"

namespace orrery {
namespace {

static_assert(std::endian::native == std::endian::little, "token files are little-endian");

constexpr std::array<char, 8> kMagic{'O', 'R', 'R', 'T', 'O', 'K', 'E', 'N'};

struct Header {
    std::array<char, 8> magic = kMagic;
    std::uint32_t version = 1;
    std::uint32_t width = 2;
    std::uint64_t vocabulary = 0;
    std::uint64_t count = 0;
    std::array<char, 32> reserved{};
};
static_assert(sizeof(Header) == 64);

constexpr const char* kHint = "orrery tokenize TEXT -o FILE makes one";

// The error in the header of a file of this size, or empty.
std::string wrong_header(const Header& header, std::size_t file_size) {
    if (header.magic != kMagic) {
        return "is not a token file";
    }
    if (header.version != 1) {
        return "is a token file of an unknown version";
    }
    if (header.width != 2 && header.width != 4) {
        return "has tokens of neither 2 nor 4 bytes";
    }
    const std::size_t space = (file_size - sizeof(Header)) / header.width;
    if (header.count == 0 || header.count > space) {
        return "is cut short or empty";
    }
    return header.vocabulary == 0 || header.vocabulary > (1U << 31) ? "has no vocabulary" : "";
}

}  // namespace

Tokens Tokens::of(std::vector<std::uint16_t> ids, std::int64_t vocabulary) {
    const auto owner = std::make_shared<std::vector<std::uint16_t>>(std::move(ids));
    Tokens tokens;
    tokens.size_ = static_cast<std::int64_t>(owner->size());
    tokens.vocabulary_ = vocabulary;
    tokens.bytes_ = {owner, reinterpret_cast<const std::byte*>(owner->data())};
    return tokens;
}

Result<Tokens> Tokens::open(const std::filesystem::path& path) {
    const auto opened = MappedFile::open(path);
    if (!opened) {
        return fail(path.string(), opened.error().what, kHint);
    }
    const auto& mapping = *opened;
    const std::span<const std::byte> bytes = mapping->bytes();
    Header header;
    if (bytes.size() < sizeof(Header)) {
        return fail(path.string(), "is not a token file", kHint);
    }
    std::memcpy(&header, bytes.data(), sizeof(Header));
    if (std::string wrong = wrong_header(header, bytes.size()); !wrong.empty()) {
        return fail(path.string(), std::move(wrong), kHint);
    }
    Tokens tokens;
    tokens.bytes_ = {mapping, bytes.data() + sizeof(Header)};
    tokens.width_ = header.width;
    tokens.size_ = static_cast<std::int64_t>(header.count);
    tokens.vocabulary_ = static_cast<std::int64_t>(header.vocabulary);
    return tokens;
}

std::int32_t Tokens::operator[](std::int64_t i) const {
    ORRERY_CHECK(i >= 0 && i < size_);
    if (width_ == 2) {
        std::uint16_t id = 0;
        std::memcpy(&id, bytes_.get() + 2 * i, 2);
        return id;
    }
    std::int32_t id = 0;
    std::memcpy(&id, bytes_.get() + 4 * i, 4);
    return id;
}

Tokens Tokens::part(std::int64_t first, std::int64_t count) const {
    ORRERY_CHECK(first >= 0 && count >= 0 && first + count <= size_);
    Tokens tokens = *this;
    tokens.bytes_ = {bytes_, bytes_.get() + first * width_};
    tokens.size_ = count;
    return tokens;
}

bool is_token_file(const std::filesystem::path& path) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) {
        return false;  // reading a pipe might block for ever
    }
    std::ifstream file{path, std::ios::binary};
    std::array<char, 8> magic{};
    const bool whole = static_cast<bool>(file.read(magic.data(), magic.size()));
    // A read error counts as a token file, so that open() reports it and ids are not read as text.
    return file.bad() || (whole && magic == kMagic);
}

Result<void> write_token_file(const std::filesystem::path& path, const Tokens& tokens) {
    std::ofstream file{path, std::ios::binary | std::ios::trunc};
    Header header;
    header.width = tokens.vocabulary() <= 65536 ? 2 : 4;
    header.vocabulary = static_cast<std::uint64_t>(tokens.vocabulary());
    header.count = static_cast<std::uint64_t>(tokens.size());
    file.write(reinterpret_cast<const char*>(&header), sizeof(header));
    for (std::int64_t i = 0; i < tokens.size() && file; ++i) {
        const std::int32_t id = tokens[i];
        file.write(reinterpret_cast<const char*>(&id), header.width);
    }
    file.flush();
    if (!file) {
        return fail(path.string(), "can't be written", "is the folder there, the disk full?");
    }
    return {};
}

}  // namespace orrery
