// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/key_table.h"

#include <gtest/gtest.h>

#include "tests/scenarios/sections.h"

namespace orrery {
namespace {

enum class Paint : std::uint8_t { red, blue };
constexpr Choice<Paint> kPaints[] = {
    {"red", Paint::red}, {"blue", Paint::blue}, {"azure", Paint::blue}};

struct Inside {
    double share = 0.5;
};
struct Made {
    bool on = false;
    std::uint32_t count = 3;
    std::uint64_t seed = 0;
    std::string name;
    Bandwidth rate = Bandwidth::bits_per_second(1'000'000'000);
    Time latency;
    std::optional<WallTime> span{};
    Distribution repair{.kind = DistributionKind::fixed, .scale = WallTime::hours(1)};
    Paint colour = Paint::red;
    std::uint32_t packet = 64;
    Inside inside{};
    int checked = 0;
};

void check_made(MapReader& reader, Made& made) {
    made.checked = reader.good("count") ? 2 : 1;
}

constexpr Key kInsideRows[] = {
    key<&Inside::share>("share", "A share.").range(0, 1),
};
constexpr auto kInsideKeys = key_table<Inside>("inside", kInsideRows, "{share: 0.5}");
constexpr Key kMadeRows[] = {
    key<&Made::on>("on", "A switch."),
    key<&Made::count>("count", "A count.").range(1, 8).of("things").required(),
    key<&Made::seed>("seed", "A seed.").range(0, kLongMost),
    key<&Made::name>("name", "A name."),
    key<&Made::rate>("rate", "A rate.").above_zero("1 Gbps"),
    key<&Made::latency>("latency", "A latency."),
    key<&Made::span>("span", "A span.").range(1, kLongMost).by("none"),
    key<&Made::repair>("repair", "A distribution."),
    choice<kPaints, &Made::colour>("colour", "A colour."),
    bytes<&Made::packet>("packet", "A size.").range(1, 100),
    part<&Made::inside>("inside", kInsideKeys, "A map."),
    key<&Made::inside, &Inside::share>("flat", "The same share.").range(0, 1),
    plain("file", KeyShape::path, "A file."),
};
constexpr auto kMadeKeys = key_table<Made, check_made>("made", kMadeRows, "{count: 1}");

std::string errors_in(const std::string& text, Made& made) {
    Errors errors;
    read_map(section_of(text), "made", kMadeKeys, made, errors);
    return lines_of(errors);
}

TEST(KeyTable, ReadsEachShapeIntoItsMember) {
    Made made;
    EXPECT_EQ(errors_in("on: true\ncount: 8\nseed: 9223372036854775807\nname: a\n"
                        "rate: 2 Gbps\nlatency: 3 us\nspan: 1h30min\nrepair: {mean: 5 d}\n"
                        "colour: azure\npacket: 100 B\ninside: {share: 0.25}\nfile: x\n",
                        made),
              "");
    EXPECT_TRUE(made.on);
    EXPECT_EQ(made.count, 8u);
    EXPECT_EQ(made.seed, 9'223'372'036'854'775'807u);
    EXPECT_EQ(made.name, "a");
    EXPECT_EQ(made.rate, Bandwidth::bits_per_second(2'000'000'000));
    EXPECT_EQ(made.latency, Time::picoseconds(3'000'000));
    EXPECT_EQ(made.span, WallTime::seconds(5400));
    EXPECT_EQ(made.repair.kind, DistributionKind::exponential);
    EXPECT_EQ(made.colour, Paint::blue);
    EXPECT_EQ(made.packet, 100u);
    EXPECT_EQ(made.inside.share, 0.25);
    EXPECT_EQ(made.checked, 2);
}

TEST(KeyTable, EveryMistakeIsAnErrorAtItsPlaceAndChangesNothing) {
    for (const char* line : {"on: 1",
                             "count: 9",
                             "count: 1.5",
                             "seed: -1",
                             "name: [1]",
                             "rate: 0 Gbps",
                             "rate: 2",
                             "latency: 3 Gbps",
                             "span: 0 s",
                             "repair: {mean: 1 d, sigma: 1, shape: 2}",
                             "colour: green",
                             "packet: 101 B",
                             "inside: 3",
                             "inside: {share: 2}",
                             "inside: {shaer: 0}",
                             "fiel: x"}) {
        Made made;
        const std::string key{line, std::string_view{line}.find(':')};
        const std::string text =
            (key == "count" ? std::string{} : std::string{"count: 2\n"}) + line + "\n";
        const std::string errors = errors_in(text, made);
        EXPECT_EQ(errors.find("s.yaml:"), 0u) << line << errors;
        EXPECT_NE(errors.find(key), std::string::npos) << errors;
        EXPECT_EQ(std::ranges::count(errors, '\n'), 1) << line << '\n' << errors;
        EXPECT_EQ(made.rate, Made{}.rate);
        EXPECT_EQ(made.packet, Made{}.packet);
        EXPECT_EQ(made.inside.share, 0.5);
    }
}

TEST(KeyTable, ARequiredKeyIsMissedAndAMapIsDue) {
    Made made;
    EXPECT_EQ(errors_in("on: true\n", made),
              "s.yaml:1:1: error: 'made' lacks the key 'count' (hint: add 'count: …')\n");
    EXPECT_EQ(made.checked, 1);
    Errors errors;
    EXPECT_FALSE(read_map(section_of("3"), "made", kMadeKeys, made, errors));
    EXPECT_EQ(lines_of(errors),
              "s.yaml:1:1: error: made must be a map, not '3' (hint: {count: 1})\n");
}

TEST(KeyTable, RowsSayTheirValuesAndDefaults) {
    const Made made;
    const auto text = [&](const char* name) {
        return std::pair{values_text(row_of(kMadeKeys, name)), row_of(kMadeKeys, name).text(&made)};
    };
    using Texts = std::pair<std::string, std::string>;
    EXPECT_EQ(text("on"), (Texts{"true, false", "false"}));
    EXPECT_EQ(text("count"), (Texts{"1 to 8 things", "3"}));
    EXPECT_EQ(text("seed"), (Texts{"0 or more", "0"}));
    EXPECT_EQ(text("rate"), (Texts{"a bandwidth, like 200 Gbps", "1 Gbps"}));
    EXPECT_EQ(text("span"), (Texts{"a span of time, like 10 min", ""}));
    EXPECT_EQ(text("repair").second, "1 h");
    EXPECT_EQ(text("colour"), (Texts{"red, blue", "red"}));
    EXPECT_EQ(text("packet"), (Texts{"a size, like 80 GiB", "64 B"}));
    EXPECT_EQ(text("flat"), (Texts{"0 to 1", "0.5"}));
    EXPECT_EQ(values_text(row_of(kMadeKeys, "file").or_list()), "a path, or a list of them");
}

TEST(KeyTable, OneRowIsReadByItsName) {
    const DocumentNode root = section_of("count: 4\nshare: 0.75\n");
    Errors errors;
    MapReader reader{root, "made", errors};
    Made made;
    EXPECT_TRUE(read_key(reader, kMadeKeys, "count", made));
    EXPECT_EQ(made.count, 4u);
    double share = 0;
    EXPECT_TRUE(read_real(reader, kInsideKeys, "share", share));
    EXPECT_EQ(share, 0.75);
    reader.finish();
    EXPECT_TRUE(errors.empty());
}

}  // namespace
}  // namespace orrery
