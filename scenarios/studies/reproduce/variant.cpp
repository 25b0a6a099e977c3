// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/reproduce/variant.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "models/plan/plan_fields.h"
#include "models/plan/validate_plan.h"
#include "scenarios/format/document/nearest.h"
#include "scenarios/format/document/overrides.h"
#include "scenarios/format/document/read_field.h"
#include "scenarios/format/read/read_sections.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/format/specs/plan_key.h"

namespace orrery {
namespace {

std::vector<std::string> names_of_tables(const std::filesystem::path& folder) {
    std::vector<std::string> names;
    std::error_code ignored;
    for (const auto& file : std::filesystem::directory_iterator{folder, ignored}) {
        if (file.path().extension() == ".csv") {
            names.push_back(file.path().stem().string());
        }
    }
    std::ranges::sort(names);
    return names;
}

// Changes keys of the case's plan. A key of another section is an error.
void change_plan_of_case(const ReproducedVariant& variant, ParallelPlan& plan, Errors& errors) {
    DocumentNode root;
    root.kind = DocumentNode::Kind::map;
    // The reader requires these keys in every plan.
    for_each_plan_field([&](const auto& field) {
        if (field.use == FieldUse::required) {
            put(root, plan_key(field), scalar_node(field_text(field, plan.*field.member)));
        }
    });
    for (const std::string& change : overrides_of(variant.set)) {
        const std::string key = change.substr(0, change.find('='));
        if (!key.starts_with("plan.")) {
            errors.push_back(
                {"--set " + key,
                 fmt::format("'{}' can't be set: the variant is a published case", key),
                 "a case varies plan.KEY; make a scenario file for other keys"});
            continue;
        }
        apply_override(root, change, errors);
    }
    if (errors.empty()) {
        read_plan(*root.find("plan"), plan, errors);
    }
}

Errors placed_in_room(Errors errors, const ReproducedVariant& variant) {
    const std::vector<std::string> overrides = overrides_of(variant.set);
    for (Error& error : errors) {
        error = placed_in_file(std::move(error), overrides, variant.places);
        error.where = error.where.empty() ? variant.where : error.where;
    }
    return errors;
}

std::string identity_of_variant(const std::string& source, const ReproducedVariant& variant) {
    return fmt::format("{} {}", source, fmt::join(overrides_of(variant.set), " "));
}

ResultOrErrors<PreparedVariant> prepare_case(const ReproducedVariant& variant,
                                             PublishedTables& tables) {
    const auto row = tables.find(variant.published_case, variant.where);
    if (!row) {
        return unexpected<Errors>(row.error());
    }
    Result<Scenario> scenario = scenario_of(**row, Catalogue{tables.catalogue()});
    if (!scenario) {
        return unexpected<Errors>(Errors{scenario.error()});
    }
    Errors errors;
    if (!variant.set.empty()) {
        ParallelPlan& plan = scenario->plan;
        change_plan_of_case(variant, plan, errors);
        plan.data_parallel_size =
            std::max<std::int64_t>(1, (*row)->num_gpus / plan.model_parallel_size());
        std::ranges::move(check(scenario->model, plan, (*row)->num_gpus),
                          std::back_inserter(errors));
        std::ranges::move(check_device(plan, scenario->device), std::back_inserter(errors));
    }
    if (!errors.empty()) {
        return unexpected<Errors>(placed_in_room(std::move(errors), variant));
    }
    return PreparedVariant{.identity = identity_of_variant(variant.published_case, variant),
                           .scenario = std::move(*scenario),
                           .measured_s = variant.set.empty() ? (*row)->measured_s : 0};
}

}  // namespace

ResultOrErrors<const PublishedCase*> PublishedTables::find(const std::string& name,
                                                           const std::string& where) {
    const std::size_t slash = name.find('/');
    const std::string table = name.substr(0, slash);
    const std::filesystem::path folder = catalogue_ / "published";
    const std::vector<std::string> known = names_of_tables(folder);
    if (slash == std::string::npos || std::ranges::find(known, table) == known.end()) {
        return unexpected<Errors>(
            Errors{{where,
                    fmt::format("'{}' is no TABLE/CASE of published steps", name),
                    nearest_hint(table, known)}});
    }
    auto at = tables_.find(table);
    if (at == tables_.end()) {
        at = tables_.emplace(table, read_published_cases(folder / (table + ".csv"))).first;
    }
    if (!at->second) {
        return unexpected<Errors>(at->second.error());
    }
    const std::vector<PublishedCase>& rows = *at->second;
    const auto row = std::ranges::find(rows, name.substr(slash + 1), &PublishedCase::name);
    if (row == rows.end()) {
        std::vector<std::string> names;
        for (const PublishedCase& other : rows) {
            names.push_back(table + "/" + other.name);
        }
        return unexpected<Errors>(
            Errors{{where, fmt::format("there is no case '{}'", name), nearest_hint(name, names)}});
    }
    return &*row;
}

ResultOrErrors<PreparedVariant> prepare(const ReproducedVariant& variant,
                                        const std::filesystem::path& folder,
                                        PublishedTables& tables,
                                        bool served) {
    if (served && !variant.published_case.empty()) {
        return unexpected<Errors>(
            Errors{{variant.where,
                    fmt::format("case '{}' is a step and serves no load", variant.published_case),
                    "scenario: a file of kind serving"}});
    }
    if (!variant.published_case.empty()) {
        return prepare_case(variant, tables);
    }
    ReadOptions read;
    read.serving = served;
    read.overrides = overrides_of(variant.set);
    read.catalogue = tables.catalogue();
    const std::filesystem::path file = (folder / variant.scenario).lexically_normal();
    ResultOrErrors<Scenario> scenario = read_scenario(file, read);
    if (!scenario) {
        return unexpected<Errors>(placed_in_room(scenario.error(), variant));
    }
    return PreparedVariant{.identity = identity_of_variant(file.string(), variant),
                           .scenario = std::move(*scenario)};
}

}  // namespace orrery
