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

}  // namespace
}  // namespace orrery
