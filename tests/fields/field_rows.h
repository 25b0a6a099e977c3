// SPDX-License-Identifier: Apache-2.0
// Tests of a *kind* of fault: a field that nothing reads. A struct's table has a row for each of
// its fields: how to change it, and, of a field that changes no answer, why. A struct that grows a
// field without a row does not compile; a field without effect fails, unless its row gives a
// reason; and a reason fails once the field has an effect.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/has_fields.h"

namespace orrery {

template <class Case>
struct FieldRow {
    std::string_view field;
    std::function<void(Case&)> change;
    std::function<void(Case&)> given{};  // what must hold for the field to matter
    std::string_view without_effect{};   // why
};

// Cheap answers first: a field has an effect if any of them changes.
template <class Case>
using FieldAnswers = std::vector<std::function<std::string(const Case&)>>;

// `base` has what most fields need in order to matter.
template <class Struct, class Case, std::size_t N>
void expect_effects(const FieldRow<Case> (&rows)[N],
                    const Case& base,
                    const FieldAnswers<Case>& answers) {
    static_assert(has_fields<Struct, N>(), "a field has no row");
    std::vector<std::string> of_base;
    for (const auto& answer : answers) {
        of_base.push_back(answer(base));
    }
    std::set<std::string_view> fields;
    for (const FieldRow<Case>& row : rows) {
        EXPECT_TRUE(fields.insert(row.field).second) << row.field << " has two rows";
        Case before = base;
        if (row.given) {
            row.given(before);
        }
        Case after = before;
        row.change(after);
        bool differs = false;
        for (std::size_t i = 0; i < answers.size() && !differs; ++i) {
            differs = answers[i](after) != (row.given ? answers[i](before) : of_base[i]);
        }
        EXPECT_EQ(differs, row.without_effect.empty())
            << row.field << (differs ? " has an effect after all" : " has no effect");
    }
}

// Each row's change shows in a text.
template <class Case, std::size_t N>
void expect_shown(const FieldRow<Case> (&rows)[N],
                  const Case& base,
                  std::string (&text)(const Case&)) {
    for (const FieldRow<Case>& row : rows) {
        Case before = base;
        if (row.given) {
            row.given(before);
        }
        Case after = before;
        row.change(after);
        EXPECT_NE(text(before), text(after)) << row.field << " is not in the text";
    }
}

}  // namespace orrery
