// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/read_reproduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "scenarios/format/document/nearest.h"
#include "scenarios/format/document/yaml_document.h"
#include "scenarios/format/read/file_kind.h"

namespace orrery {
namespace {

constexpr Choice<int> kReproductionWord[] = {{"reproduction", 0}};

constexpr Choice<ReproductionClass> kReproductionClasses[] = {
    {"absolute", ReproductionClass::absolute},
    {"ratio", ReproductionClass::ratio},
    {"direction", ReproductionClass::direction},
};

constexpr Choice<ReproducedMetric> kReproducedMetrics[] = {
    {"iteration_s", ReproducedMetric::iteration_s},
    {"tokens_per_s", ReproducedMetric::tokens_per_s},
    {"mfu", ReproducedMetric::mfu},
    {"hfu", ReproducedMetric::hfu},
    {"model_tflops_per_gpu", ReproducedMetric::model_tflops_per_gpu},
    {"hardware_tflops_per_gpu", ReproducedMetric::hardware_tflops_per_gpu},
    {"peak_memory_gb", ReproducedMetric::peak_memory_gb},
    {"host_memory_gb", ReproducedMetric::host_memory_gb},
    {"fits", ReproducedMetric::fits},
    {"goodput", ReproducedMetric::goodput},
    {"ettr", ReproducedMetric::ettr},
    {"interruptions", ReproducedMetric::interruptions},
    {"mttf_h", ReproducedMetric::mttf_h},
    {"lost_h", ReproducedMetric::lost_h},
    {"communicators_s", ReproducedMetric::communicators_s},
    {"restart_s", ReproducedMetric::restart_s},
    {"checkpoint_stall_s", ReproducedMetric::checkpoint_stall_s},
    {"checkpoint_copy_s", ReproducedMetric::checkpoint_copy_s},
    {"checkpoint_load_s", ReproducedMetric::checkpoint_load_s},
    {"longest_sequence", ReproducedMetric::longest_sequence},
    {"most_layers", ReproducedMetric::most_layers},
    {"best_tokens_per_s", ReproducedMetric::best_tokens_per_s},
    {"best_fits", ReproducedMetric::best_fits},
    {"placement_gain", ReproducedMetric::placement_gain},
    {"layer_plan_gain", ReproducedMetric::layer_plan_gain},
    {"ttft_s", ReproducedMetric::ttft_s},
    {"tpot_s", ReproducedMetric::tpot_s},
    {"good_share", ReproducedMetric::good_share},
    {"brakes", ReproducedMetric::brakes},
    {"peak_power_share", ReproducedMetric::peak_power_share},
    {"e2e_s", ReproducedMetric::e2e_s},
    {"output_tokens_per_s", ReproducedMetric::output_tokens_per_s},
    {"highest_rate", ReproducedMetric::highest_rate},
};

constexpr Key kReproducedVariantRows[] = {
    key<&ReproducedVariant::name>("name", "Name that comparisons call the variant.").required(),
    key<&ReproducedVariant::scenario>("scenario", "Scenario file, relative to this file."),
    key<&ReproducedVariant::published_case>(
        "case", "Row of a table of published steps: TABLE/CASE, like training/MS-256-M."),
    plain("set", KeyShape::any, "Keys that differ, as --set writes them; of a case: the plan's."),
};
const KeyTable<ReproducedVariant> kReproducedVariantKeys =
    key_table<ReproducedVariant>("reproduced_variant", kReproducedVariantRows);

constexpr Key kReproducedRows[] = {
    key<&ReproducedComparison::name>("name", "What reports call the comparison.").required(),
    key<&ReproducedComparison::exhibit>("exhibit", "Where the source has the figure: table 2.")
        .required(),
    choice<kReproductionClasses, &ReproducedComparison::kind>(
        "class", "Kind of figure, which says the rule.")
        .by("the file's"),
    choice<kReproducedMetrics, &ReproducedComparison::metric>("metric", "Figure that is compared.")
        .required(),
    key<&ReproducedComparison::variant>("variant", "Variant that is simulated.").required(),
    key<&ReproducedComparison::baseline>(
        "baseline", "Variant that the figure is divided by; required of a ratio."),
    key<&ReproducedComparison::published>("published", "Published figure.")
        .range(-1e18, 1e18)
        .by("of the cases"),
    key<&ReproducedComparison::least>("least", "direction: least figure that passes.")
        .range(-1e18, 1e18),
    key<&ReproducedComparison::most>("most", "direction: largest figure that passes.")
        .range(-1e18, 1e18),
};
const KeyTable<ReproducedComparison> kReproducedKeys =
    key_table<ReproducedComparison>("reproduced_comparison", kReproducedRows);

constexpr Key kReproductionRows[] = {
    plain_choice<kReproductionWord>("kind", "Kind of the file.").required(),
    key<&Reproduction::system>("system", "Published system.").required(),
    key<&Reproduction::title>("title", "Exhibit of it that is simulated.").required(),
    key<&Reproduction::source>("source", "Authors, place and year.").required(),
    key<&Reproduction::url>("url", "Address of the source.").required(),
    choice<kReproductionClasses, &Reproduction::kind>("class",
                                                      "Class of comparisons that say none.")
        .required(),
    key<&Reproduction::mechanism>("mechanism", "What makes the gain, in a sentence."),
    key<&Reproduction::falls_short>("falls_short", "Why comparisons fail, if any do."),
    nested("variants", KeyShape::map_list, kReproducedVariantKeys, "What is simulated.").required(),
    nested("comparisons", KeyShape::map_list, kReproducedKeys, "Figures that are compared.")
        .required(),
};

class ReproductionReader {
public:
    ReproductionReader(const std::filesystem::path& folder, Errors& errors)
        : folder_(folder), errors_(errors) {}

    void read(const DocumentNode& root, Reproduction& room) {
        MapReader reader{root, "", errors_};
        read_keys(reader, kReproductionKeys, room);
        for_each_item(reader, "variants", [&](const DocumentNode& item, const std::string& path) {
            read_variant(item, path, room);
        });
        for_each_item(
            reader, "comparisons", [&](const DocumentNode& item, const std::string& path) {
                read_comparison(item, path, room);
            });
        reader.finish();
    }

private:
    template <class Read>
    void for_each_item(MapReader& reader, const char* key, Read read) {
        const DocumentNode* list = reader.find(key, Presence::required);
        if (list == nullptr) {
            return;
        }
        if (!list->is_sequence() || list->items.empty()) {
            const std::string found = list->is_sequence() ? "an empty list" : list->describe();
            reader.complain(key, fmt::format("{} must be a list of maps, not {}", key, found));
            return;
        }
        for (std::size_t i = 0; i < list->items.size(); ++i) {
            const DocumentNode& item = list->items[i];
            const std::string path = fmt::format("{}[{}]", key, i);
            if (item.is_map()) {
                read(item, path);
            } else {
                errors_.push_back({item.where(),
                                   fmt::format("{} must be a map, not {}", path, item.describe()),
                                   {}});
            }
        }
    }

    void read_variant(const DocumentNode& item, const std::string& path, Reproduction& room) {
        ReproducedVariant variant;
        variant.where = item.where();
        MapReader reader{item, path, errors_};
        read_keys(reader, kReproducedVariantKeys, variant);
        if (const DocumentNode* set = reader.find("set")) {
            read_settings(*set, path + ".set", variant.set, variant.places, errors_);
        }
        reader.finish();
        const bool file = !variant.scenario.empty();
        if (file == !variant.published_case.empty()) {
            reader.complain("name",
                            fmt::format("variant '{}' has {} scenario and {} case",
                                        variant.name,
                                        file ? "a" : "no",
                                        file ? "a" : "no"),
                            "give one of them");
        }
        std::error_code ignored;
        if (file && !std::filesystem::is_regular_file(folder_ / variant.scenario, ignored)) {
            reader.complain("scenario",
                            fmt::format("there is no file '{}'", variant.scenario),
                            "names are relative to the folder of this file");
        }
        name_variants(room);
        if (std::ranges::find(names_, variant.name) != names_.end()) {
            reader.complain("name", fmt::format("two variants are called '{}'", variant.name));
        }
        room.variants.push_back(std::move(variant));
    }

    void name_variants(const Reproduction& room) {
        names_.clear();
        for (const ReproducedVariant& variant : room.variants) {
            names_.push_back(variant.name);
        }
    }

    // Only an unchanged published case has a published time.
    static bool has_time(const Reproduction& room, const std::string& variant) {
        const auto found = std::ranges::find(room.variants, variant, &ReproducedVariant::name);
        return found != room.variants.end() && !found->published_case.empty() && found->set.empty();
    }

    void read_comparison(const DocumentNode& item, const std::string& path, Reproduction& room) {
        ReproducedComparison comparison;
        comparison.where = item.where();
        comparison.kind = room.kind;
        MapReader reader{item, path, errors_};
        read_keys(reader, kReproducedKeys, comparison);
        reader.finish();
        name_variants(room);
        for (const auto& [key, variant] : {std::pair{"variant", comparison.variant},
                                           std::pair{"baseline", comparison.baseline}}) {
            if (!variant.empty() && std::ranges::find(names_, variant) == names_.end()) {
                reader.complain(key,
                                fmt::format("there is no variant '{}'", variant),
                                nearest_hint(variant, names_));
            }
        }
        check_class(reader, room, comparison);
        room.comparisons.push_back(std::move(comparison));
    }

    static void check_class(MapReader& reader,
                            const Reproduction& room,
                            const ReproducedComparison& comparison) {
        const bool ranged = comparison.least || comparison.most;
        if (comparison.kind == ReproductionClass::ratio && comparison.baseline.empty()) {
            reader.complain("baseline", "a ratio needs a baseline", "name one of the variants");
        }
        if (comparison.kind == ReproductionClass::absolute && !comparison.baseline.empty()) {
            reader.complain("baseline", "an absolute figure has no baseline", "class: ratio");
        }
        if (comparison.kind == ReproductionClass::direction && !ranged) {
            reader.complain("class", "a direction needs a range", "give least, most or both");
        }
        if (comparison.kind != ReproductionClass::direction && ranged) {
            reader.complain(comparison.least ? "least" : "most",
                            "only a direction has a range",
                            "the rule of other classes follows from the class");
        }
        if (comparison.least && comparison.most && *comparison.least > *comparison.most) {
            reader.complain("least", "the range is empty", "least is above most");
        }
        const bool timed = comparison.metric == ReproducedMetric::iteration_s ||
                           comparison.metric == ReproducedMetric::tokens_per_s;
        const bool of_cases = timed && has_time(room, comparison.variant) &&
                              (comparison.baseline.empty() || has_time(room, comparison.baseline));
        if (!comparison.published && !of_cases) {
            reader.complain("published",
                            "there is no published figure",
                            "give it, or compare iteration_s or tokens_per_s of published cases");
        }
    }

    const std::filesystem::path& folder_;
    Errors& errors_;
    std::vector<std::string> names_;
};

ResultOrErrors<Reproduction> room_of(const DocumentNode& root,
                                     const std::string& source,
                                     const std::filesystem::path& folder) {
    if (Error other = of_another_kind(root, {"reproduction"}); !other.what.empty()) {
        return unexpected<Errors>({std::move(other)});
    }
    Errors errors;
    Reproduction room;
    room.file = source;
    room.name = room.file.stem().string();
    ReproductionReader{folder, errors}.read(root, room);
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    return room;
}

}  // namespace

const KeyTable<Reproduction> kReproductionKeys =
    key_table<Reproduction>("reproduction", kReproductionRows);

std::string_view name(ReproductionClass kind) {
    return word_of(kind, kReproductionClasses);
}

std::string_view name(ReproducedMetric metric) {
    return word_of(metric, kReproducedMetrics);
}

ResultOrErrors<Reproduction> read_reproduction_text(const std::string& text,
                                                    const std::string& source,
                                                    const std::filesystem::path& folder) {
    const ResultOrErrors<DocumentNode> root = parse_yaml(text, source);
    return root ? room_of(*root, source, folder) : unexpected<Errors>(root.error());
}

ResultOrErrors<Reproduction> read_reproduction(const std::filesystem::path& file) {
    const ResultOrErrors<DocumentNode> root = read_yaml_file(file);
    return root ? room_of(*root, file.string(), file.parent_path())
                : unexpected<Errors>(root.error());
}

}  // namespace orrery
