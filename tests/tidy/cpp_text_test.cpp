// SPDX-License-Identifier: Apache-2.0
#include "tests/tidy/cpp_text.h"

#include <gtest/gtest.h>

namespace orrery::tidy {
namespace {

using Extents = std::vector<std::pair<std::size_t, std::size_t>>;

Extents extents(std::string_view text) {
    Extents all;
    for (const Function& function : functions_of(text)) {
        all.emplace_back(function.line, function.lines);
    }
    return all;
}

TEST(CppText, BlanksCommentsAndLiteralsButKeepsLines) {
    EXPECT_EQ(without_comments_and_literals("a /* { \n } */ b // {\nc"),
              "a      \n      b     \nc");
    EXPECT_EQ(without_comments_and_literals(R"(f("a \" {", '{', '\'');)"),
              R"(f("      ", ' ', '  ');)");
    EXPECT_EQ(without_comments_and_literals("R\"x({ \" )x\" + 1'000'000"),
              "R\"        \" + 1'000'000");
}

TEST(CppText, FindsIncludes) {
    const auto includes =
        includes_of("#include <vector>\n  # include \"engine/program/mesh.h\"\n// #include <x>\n");
    ASSERT_EQ(includes.size(), 2u);
    EXPECT_EQ(includes[0].path, "vector");
    EXPECT_FALSE(includes[0].quoted);
    EXPECT_EQ(includes[1].path, "engine/program/mesh.h");
    EXPECT_TRUE(includes[1].quoted);
}

TEST(CppText, MeasuresAFreeFunctionFromItsSignature) {
    EXPECT_EQ(extents("\nint f(int a,\n      int b) {\n    return a + b;\n}\n"), (Extents{{2, 4}}));
    EXPECT_EQ(extents("int f();\nint g() { return 1; }\n"), (Extents{{2, 1}}));
}

TEST(CppText, CountsInnerBracesAndLambdasWithTheirFunction) {
    EXPECT_EQ(extents("void f() {\n    if (x) {\n        g([] { return 1; });\n    }\n}\n"),
              (Extents{{1, 5}}));
}

TEST(CppText, LooksIntoNamespacesAndClasses) {
    EXPECT_EQ(extents("namespace a {\n"
                      "struct S {\n"
                      "    int x = 0;\n"
                      "    std::vector<int> y{1, 2};\n"
                      "public:\n"
                      "    int f() const {\n"
                      "        return x;\n"
                      "    }\n"
                      "};\n"
                      "}  // namespace a\n"
                      "int g() {\n"
                      "}\n"),
              (Extents{{6, 3}, {11, 2}}));
}

TEST(CppText, TemplateParametersAreNotClasses) {
    EXPECT_EQ(extents("template <class T, class U = std::vector<T>>\n"
                      "    requires std::is_enum_v<T>\n"
                      "T f(T t) {\n"
                      "    return t;\n"
                      "}\n"
                      "template <class T>\n"
                      "struct S {\n"
                      "    void g() {}\n"
                      "};\n"),
              (Extents{{1, 5}, {8, 1}}));
}

TEST(CppText, DataIsNoFunction) {
    EXPECT_EQ(extents("constexpr int k[] = {1, 2,\n 3};\nenum class E { a, b };\n"), Extents{});
}

TEST(CppText, DefaultArgumentsAndInitialisersDoNotHideTheBody) {
    EXPECT_EQ(extents("int f(Options o = {}) {\n    return 1;\n}\n"), (Extents{{1, 3}}));
    EXPECT_EQ(extents("A::A(int a)\n    : a_{a}, b_(a), c_{a} {\n    g();\n\n}\nint g() {}\n"),
              (Extents{{1, 5}, {6, 1}}));
}

TEST(CppText, DirectivesDoNotUnbalanceBraces) {
    EXPECT_EQ(extents("#define OPEN {\n#define LONG(x) \\\n    do { \\\n    f(x)\nint g() {\n}\n"),
              (Extents{{5, 2}}));
}

TEST(CppText, CountsCharactersNotBytes) {
    EXPECT_EQ(columns_of("α-β … ok"), 8u);
    EXPECT_EQ(lines_of("a\n\nb").size(), 3u);
    EXPECT_EQ(lines_of("a\n").size(), 1u);
}

}  // namespace
}  // namespace orrery::tidy
