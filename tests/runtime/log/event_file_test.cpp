// SPDX-License-Identifier: Apache-2.0
#include "runtime/log/event_file.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "runtime/state/crc32c.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

std::uint64_t number_at(const std::string& bytes, std::size_t at, std::size_t size) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + at, size);
    return value;
}

// The payloads of a file's records, whose checksums must be right.
std::vector<std::string> records(const std::string& file) {
    std::vector<std::string> found;
    const auto masked = [](const std::string& bytes) {
        const std::uint32_t crc = crc32c({std::as_bytes(std::span{bytes})});
        return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
    };
    for (std::size_t at = 0; at < file.size();) {
        const std::uint64_t length = number_at(file, at, 8);
        EXPECT_EQ(number_at(file, at + 8, 4), masked(file.substr(at, 8)));
        found.push_back(file.substr(at + 12, length));
        EXPECT_EQ(number_at(file, at + 12 + length, 4), masked(found.back()));
        at += 16 + length;
    }
    return found;
}

// Every byte as protocol buffers have it: 150 is 0x96 0x01 there.
TEST(EventFile, AnEventIsAMessageOfProtocolBuffers) {
    const std::vector<ScalarEvent> scalars{{"a/b", 1.0}, {"c", -2.0}};
    const std::string event = scalar_event(1.0, 150, scalars);
    const std::string expected{
        "\x09\0\0\0\0\0\0\xF0\x3F"  // wall_time
        "\x10\x96\x01"              // step
        "\x2A\x16"                  // summary
        "\x0A\x0A\x0A\x03"          // a value and its tag
        "a/b\x15\0\0\x80\x3F"
        "\x0A\x08\x0A\x01"
        "c\x15\0\0\0\xC0",
        36};
    EXPECT_EQ(event, expected);
}

TEST(EventFile, BeginsWithItsVersionAndGrowsByARecordAStep) {
    const TestFolder folder;
    const std::filesystem::path runs = folder / "runs";
    {
        Result<EventFile> file = EventFile::create(runs);
        ASSERT_TRUE(file) << file.error().to_string();
        for (std::int64_t step = 1; step <= 3; ++step) {
            const std::vector<ScalarEvent> scalars{{"loss/train", 2.5}};
            ASSERT_TRUE(file->write(step, scalars));
        }
        ASSERT_TRUE(EventFile::create(runs));  // another run at the same second: another file
    }
    std::size_t files = 0;
    std::size_t longest = 0;
    for (const auto& entry : std::filesystem::directory_iterator{runs}) {
        EXPECT_NE(entry.path().filename().string().find("tfevents"), std::string::npos);
        const std::vector<std::string> all = records(read_text(entry.path()));
        ASSERT_FALSE(all.empty());
        EXPECT_NE(all[0].find("brain.Event:2"), std::string::npos);
        longest = std::max(longest, all.size());
        ++files;
    }
    EXPECT_EQ(files, 2u);
    EXPECT_EQ(longest, 4u);
}

TEST(EventFile, SaysWhereItCannotBeWritten) {
    const TestFolder folder;
    write_text(folder / "file", "x");
    const Result<EventFile> wrong = EventFile::create(folder / "file");
    ASSERT_FALSE(wrong);
    EXPECT_NE(wrong.error().where.find("file"), std::string::npos);
}

}  // namespace
}  // namespace orrery
