// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace orrery {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span{text});
}

// RFC 3720, appendix B.4.
TEST(Crc32c, GivesThePublishedValues) {
    EXPECT_EQ(crc32c({bytes_of(std::string(32, '\0'))}), 0x8A9136AAU);
    EXPECT_EQ(crc32c({bytes_of(std::string(32, '\xff'))}), 0x62A8AB43U);
    EXPECT_EQ(crc32c({bytes_of("123456789")}), 0xE3069283U);
    EXPECT_EQ(crc32c({}), 0U);
}

TEST(Crc32c, DoesNotDependOnThePieces) {
    EXPECT_EQ(crc32c({bytes_of("1234"), bytes_of(""), bytes_of("56789")}), 0xE3069283U);
}

// Every length and alignment around a word, in one piece and in two.
TEST(Crc32c, TheInstructionGivesWhatTheTableDoes) {
    std::string text;
    for (int i = 0; i < 100; ++i) {
        text.push_back(static_cast<char>(i * i + 7 * i));
    }
    for (std::size_t begin = 0; begin < 9; ++begin) {
        for (std::size_t size = 0; begin + size <= text.size(); ++size) {
            const std::string part = text.substr(begin, size);
            const auto in_place = bytes_of(text).subspan(begin, size);
            EXPECT_EQ(crc32c({in_place}), crc32c_by_table({in_place}));
            EXPECT_EQ(crc32c({in_place.first(size / 3), in_place.subspan(size / 3)}),
                      crc32c_by_table({bytes_of(part)}));
        }
    }
}

}  // namespace
}  // namespace orrery
