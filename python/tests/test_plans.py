"""From a spec and a target to a plan, its proof and its CUDA, without a GPU."""

import json
import pickle

import pytest
from conftest import gemm, moe


def test_targets_by_name(heddle):
    target = heddle.Target("h200")
    assert (target.arch, target.compiler_arch, target.tuned_gpu) == (90, "sm_90a", "h200")
    assert target == heddle.Target("h200")
    assert target != heddle.Target("h100")
    assert target in heddle.Target.known()
    assert hash(target) == hash(heddle.Target("h200"))
    with pytest.raises(TypeError):
        hash(heddle.resolve(gemm(), "h200").kernels[0])  # its arguments are a list
    assert pickle.loads(pickle.dumps(target)) == target
    with pytest.raises(heddle.UsageError, match="h200") as caught:
        heddle.Target("h2000")
    assert caught.value.code == "target.unknown"


def test_a_target_from_facts_that_no_gpu_has(heddle):
    facts = {name: getattr(heddle.Target("a100"), name) for name in heddle.Target.__match_args__}
    assert heddle.resolve(gemm(), heddle.Target.from_facts(**facts)).target.name == "a100"
    with pytest.raises(heddle.UsageError) as caught:
        heddle.resolve(gemm(), heddle.Target.from_facts(**{**facts, "sm_count": 0}))
    assert caught.value.code == "target.invalid"


def test_a_plan_says_what_runs(heddle):
    plan = heddle.resolve(gemm(), "h200")
    assert plan.spec == heddle.Spec(gemm())
    assert plan == heddle.resolve(heddle.Spec(gemm()), heddle.Target("h200"))
    assert plan != heddle.resolve(gemm(), "a100")
    assert (plan.kernels[0].size_min, plan.kernels[-1].size_max) == (1, 8)
    assert plan.kernel_for(1) == 0
    assert plan.kernels[0].name in plan.describe()
    assert plan.to_dict() == json.loads(plan.to_json())
    assert plan.max_workspace_bytes >= plan.workspace_bytes(1)
    assert plan.reasons
    for outside in (0, 9):
        with pytest.raises(ValueError, match=f"serves {outside}"):
            plan.workspace_bytes(outside)
        with pytest.raises(ValueError, match=f"serves {outside}"):
            plan.kernel_for(outside)


def test_a_layer_of_experts_is_several_launches_of_one_kernel(heddle):
    plan = heddle.resolve(moe(), "a100")
    assert {kernel.phases for kernel in plan.kernels} == {4}
    assert {kernel.phases for kernel in heddle.resolve(moe(), "h200").kernels} == {2}
    assert {kernel.phases for kernel in heddle.resolve(gemm(), "h200").kernels} == {1}
    assert plan.workspace_bytes(8) > plan.workspace_bytes(1) > 0


def test_act_order_has_a_kernel_before(heddle):
    spec = gemm(activation={"dtype": "fp16", "act_order": True})
    plan = heddle.resolve(spec, "h200")
    assert len(plan.before) == 1
    assert len(heddle.render(plan)) == len(plan.kernels) + 1


def test_what_a_gpu_cannot_serve_is_refused_with_the_reason(heddle):
    with pytest.raises(heddle.UnsupportedError) as caught:
        heddle.resolve(gemm(activation={"dtype": "bf16"}), "sm_75")
    assert caught.value.category == "unsupported"
    assert caught.value.problems


def test_decode_plans_are_proven(heddle):
    for proof in heddle.prove(heddle.resolve(gemm(), "h200")):
        assert proof.exact
        assert proof.codes_checked > 1000
    plan = heddle.resolve(gemm(), "h200").decode_plans[0]
    assert plan.elements == 8 * plan.words
    assert plan.instructions_per_weight < 2
    assert "lop3" in plan.describe()
    assert json.loads(plan.to_json())


def test_render_gives_what_the_compiler_gets(heddle):
    sources = heddle.render(gemm(), "a100")
    assert [source.kernel_name for source in sources] == [
        kernel.name for kernel in heddle.resolve(gemm(), "a100").kernels]
    for source in sources:
        assert 'extern "C"' in source.text
        assert source.kernel_name in source.text
        assert source.arch == "sm_80"
        assert "#include" not in source.text


def test_a_plan_has_its_target_and_a_spec_needs_one(heddle):
    with pytest.raises(TypeError, match="needs a target"):
        heddle.render(gemm())
    with pytest.raises(TypeError, match="has its target"):
        heddle.render(heddle.resolve(gemm(), "h200"), "h200")
    with pytest.raises(TypeError, match="target"):
        heddle.resolve(gemm(), 90)


def test_tuned_tables_decide(heddle):
    spec = gemm(4096, 4096)
    shipped = heddle.TunedTables.shipped()
    table = shipped.of("h100")
    assert table.gpu == "h100"
    assert shipped.of("sm_75") is None
    assert heddle.TunedTable(table.to_json()) == table
    own = heddle.TunedTables([table])
    assert heddle.resolve(spec, "h100", own) == heddle.resolve(spec, "h100")
    assert own.tables == [table]
    entry = table.entries[0]
    assert (entry.m_first <= entry.m_last, bool(entry.kernel)) == (True, True)
    assert (entry.granularity, entry.accumulation) == ("none", "promoted")
    assert table.entries == heddle.TunedTable(table.to_json()).entries
    with pytest.raises(heddle.UsageError) as caught:
        table.merge(heddle.TunedTable(table.to_json().replace('"h100"', '"h200"')))
    assert caught.value.code == "tuned.other_gpu"
    with pytest.raises(heddle.SpecError):
        heddle.TunedTable("{}")
