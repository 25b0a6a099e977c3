// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/provenance/fingerprint.h"

#include <gtest/gtest.h>

#include "tests/test_folder.h"

namespace orrery {
namespace {

TEST(Fingerprint, IsFnv1aOf128Bits) {
    // RFC 9923, appendix C: of nothing it is the offset basis.
    EXPECT_EQ(Fingerprint{}.hexadecimal(), "6c62272e07bb014262b821756295c58d");
}

TEST(Fingerprint, TellsPartsFromEachOther) {
    Fingerprint a;
    a.add("ab");
    a.add("c");
    Fingerprint b;
    b.add("a");
    b.add("bc");
    EXPECT_NE(a.hexadecimal(), b.hexadecimal());
}

TEST(Fingerprint, OfAFolderIsOfItsFiles) {
    const TestFolder folder;
    std::filesystem::create_directory(folder / "traces");
    folder.write("traces/a.et", "1");
    const std::string first = file_fingerprint(folder / "traces");
    EXPECT_EQ(file_fingerprint(folder / "traces"), first);
    folder.write("traces/b.et", "2");
    EXPECT_NE(file_fingerprint(folder / "traces"), first);
    EXPECT_NE(file_fingerprint(folder / "traces/a.et"), file_fingerprint(folder / "traces/b.et"));
}

TEST(Fingerprint, OfACatalogueLeavesItsPublishedMeasurementsOut) {
    const TestFolder folder;
    std::filesystem::create_directories(folder / "devices");
    std::filesystem::create_directories(folder / "published");
    folder.write("devices/gpu.yaml", "peak: 1");
    const std::string first = catalogue_fingerprint(folder.path());
    folder.write("published/table.csv", "a result of others");
    EXPECT_EQ(catalogue_fingerprint(folder.path()), first);
    folder.write("devices/gpu.yaml", "peak: 2");
    EXPECT_NE(catalogue_fingerprint(folder.path()), first);
}

}  // namespace
}  // namespace orrery
