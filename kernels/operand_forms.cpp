// SPDX-License-Identifier: Apache-2.0
#include "kernels/operand_forms.h"

#include <string_view>

#include "engine/program/device_scalars.h"

namespace orrery {
namespace {

using Elements = std::vector<std::int64_t>;

std::string compare_one(std::string_view access,
                        const Elements& actual,
                        const Elements& expected,
                        const Elements& optional) {
    const std::string what{access};
    if (actual.size() < expected.size() || actual.size() > expected.size() + optional.size()) {
        return what + " " + std::to_string(actual.size()) + " operands, not " +
               std::to_string(expected.size());
    }
    Elements all = expected;
    all.insert(all.end(), optional.begin(), optional.end());
    for (std::size_t i = 0; i < actual.size(); ++i) {
        if (actual[i] != all[i]) {
            return what + " operand " + std::to_string(i) + " has " + std::to_string(actual[i]) +
                   " elements, not " + std::to_string(all[i]);
        }
    }
    return {};
}

}  // namespace

std::int64_t OperandForm::elements() const {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) {
        count *= extent;
    }
    return count;
}

void OperandForms::statistics(Access access, std::int64_t tokens, int count) {
    for (int i = 0; i < count; ++i) {
        add({.access = access,
             .dtype = Dtype::fp32,
             .shape = {tokens, 1, 1},
             .values = OperandValues::positive});
    }
}

void OperandForms::ids(std::vector<std::int64_t> shape, std::int64_t count) {
    add({.dtype = Dtype::int32,
         .shape = std::move(shape),
         .values = OperandValues::ids,
         .ids = count});
}

void OperandForms::scalars() {
    add({.dtype = Dtype::fp32, .shape = {kNumDeviceScalars}, .values = OperandValues::scalars});
}

ExpectedSizes sizes_of(const OperandForms& forms) {
    ExpectedSizes sizes;
    for (const OperandForm& form : forms.all()) {
        auto& list = form.access == Access::read    ? sizes.reads
                     : form.access == Access::write ? sizes.writes
                                                    : sizes.accumulates;
        list.push_back(form.elements());
    }
    return sizes;
}

std::string compare(const OperandSizes& sizes, const ExpectedSizes& expected) {
    std::string wrong = compare_one("reads", sizes.reads, expected.reads, expected.optional_reads);
    if (wrong.empty()) {
        wrong = compare_one("writes", sizes.writes, expected.writes, expected.optional_writes);
    }
    return wrong.empty() ? compare_one("accumulates", sizes.accumulates, expected.accumulates, {})
                         : wrong;
}

}  // namespace orrery
