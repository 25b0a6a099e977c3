// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/read_calibration.h"

#include <fmt/format.h>

#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/document/yaml_document.h"
#include "scenarios/format/read/file_kind.h"

namespace orrery {
namespace {

constexpr Choice<int> kCalibrationWord[] = {{"calibration", 0}};

template <std::size_t kIndex>
constexpr Key factor_key() {
    constexpr const CalibrationFactor& factor = kCalibrationFactors[kIndex];
    return key<factor.member>(factor.name, factor.meaning).range(kFactorLeast, kFactorMost);
}

constexpr Key kCalibrationRows[] = {
    plain_choice<kCalibrationWord>("kind", "Kind of the file.").required(),
    key<&Calibration::name>("name", "What reports call the calibration.").by("the file's name"),
    key<&Calibration::software>("software", "Software whose steps were measured, no version.")
        .required(),
    key<&Calibration::generation>("generation", "Generation of the devices: hopper.").required(),
    key<&Calibration::precision>("precision",
                                 "Class of the products' type: fp16 (bf16 too), fp8 or fp32.")
        .required(),
    key<&Calibration::steps>("steps", "Measured steps that it rests on.").range(0, 1'000'000),
    factor_key<0>(),
    factor_key<1>(),
    factor_key<2>(),
    factor_key<3>(),
    key<&Calibration::step>("step", "Time of every step beside all that is modelled."),
    key<&Calibration::spread>("spread",
                              "Relative standard deviation of calibrated predictions; 0: as "
                              "without a calibration.")
        .range(0, 2),
};
static_assert(kCalibrationFactors.size() == 4, "each factor has a key");

}  // namespace

const KeyTable<Calibration> kCalibrationKeys =
    key_table<Calibration>("calibration", kCalibrationRows);

ResultOrErrors<Calibration> read_calibration(const std::filesystem::path& file) {
    ResultOrErrors<DocumentNode> root = read_yaml_file(file);
    if (!root) {
        return unexpected<Errors>(root.error());
    }
    if (Error other = of_another_kind(*root, {"calibration"}); !other.what.empty()) {
        return unexpected<Errors>(Errors{std::move(other)});
    }
    Errors errors;
    Calibration calibration;
    calibration.name = file.stem().string();
    read_map(*root, "", kCalibrationKeys, calibration, errors);
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    return calibration;
}

ResultOrErrors<EfficiencyTable> read_step_table(const std::string& calibration_file) {
    auto table = read_efficiency_table((default_catalogue() / "step_efficiency.csv").string());
    if (!table || calibration_file.empty()) {
        return table;
    }
    const ResultOrErrors<Calibration> calibration = read_calibration(calibration_file);
    if (!calibration) {
        return unexpected<Errors>(calibration.error());
    }
    apply_calibration(*calibration, *table);
    return table;
}

}  // namespace orrery
