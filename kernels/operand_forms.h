// SPDX-License-Identifier: Apache-2.0
// The operands of kernels: their forms if a kernel runs by itself, and the check of an op's
// operands. Activations are (sequence, batch, width), row-major.
#pragma once

#include <string>
#include <vector>

#include "engine/program/program.h"

namespace orrery {

// The initial values of an operand if a kernel runs by itself. `equal`: all are OperandForm::ids.
enum class OperandValues : std::uint8_t { any, positive, ids, scalars, equal };

struct OperandForm {
    Access access = Access::read;
    Dtype dtype = Dtype::fp32;
    std::vector<std::int64_t> shape;
    OperandValues values = OperandValues::any;
    bool transposed = false;
    std::int64_t ids = 0;  // with OperandValues::ids: the number of distinct ids

    std::int64_t elements() const;
};

// The operands of one call, in the order of the op's operands.
class OperandForms {
public:
    explicit OperandForms(const KernelCall& call) : dtype_(call.dtype) {}

    void add(OperandForm form) { all_.push_back(std::move(form)); }
    void add(Access access, Dtype dtype, std::vector<std::int64_t> shape) {
        add({.access = access, .dtype = dtype, .shape = std::move(shape)});
    }
    // With the call's dtype.
    void read(std::vector<std::int64_t> shape) { add(Access::read, dtype_, std::move(shape)); }
    void write(std::vector<std::int64_t> shape) { add(Access::write, dtype_, std::move(shape)); }
    // fp32, `count` values per token.
    void statistics(Access access, std::int64_t tokens, int count);
    // int32 numbers from 0 to `count` - 1.
    void ids(std::vector<std::int64_t> shape, std::int64_t count);
    void scalars();  // the device scalar block (engine/program/device_scalars.h)

    const std::vector<OperandForm>& all() const { return all_; }

private:
    Dtype dtype_;
    std::vector<OperandForm> all_;
};

// The number of elements of each operand of an op, by access.
struct OperandSizes {
    std::vector<std::int64_t> reads;
    std::vector<std::int64_t> writes;
    std::vector<std::int64_t> accumulates;
    bool in_parts = false;  // an operand is a column part of its tensor
};

// The expected sizes. The optional operands may follow the others.
struct ExpectedSizes {
    std::vector<std::int64_t> reads;
    std::vector<std::int64_t> writes;
    std::vector<std::int64_t> accumulates;
    std::vector<std::int64_t> optional_reads{};
    std::vector<std::int64_t> optional_writes{};
};

ExpectedSizes sizes_of(const OperandForms& forms);
// The difference in words, or empty.
std::string compare(const OperandSizes& sizes, const ExpectedSizes& expected);

}  // namespace orrery
