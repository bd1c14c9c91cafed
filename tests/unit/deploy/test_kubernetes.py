"""The manifests: valid for the versions in use, and hardened as the namespace demands."""

from __future__ import annotations

from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import pytest

from tests.unit.deploy.files import DEPLOY, USER, VERSION, assert_pinned, assert_settings, documents

FOLDER = DEPLOY / "kubernetes"
KUSTOMIZATION = documents(FOLDER / "kustomization.yaml")[0]
OBJECTS = {
    f"{one['kind']}/{one['metadata']['name']}": one
    for name in KUSTOMIZATION["resources"]
    for one in documents(FOLDER / name)
}
PODS = {name: one["spec"]["template"]["spec"] for name, one in OBJECTS.items() if "template" in one.get("spec", {})}
CONTAINERS = {
    f"{name}/{container['name']}": container
    for name, pod in PODS.items()
    for container in (*pod.get("initContainers", ()), *pod["containers"])
}
VERSIONS = ("1.32", "1.37")
"""The oldest and the newest that the manifests are checked against."""


def test_every_manifest_is_applied() -> None:
    assert {path.name for path in FOLDER.glob("*.yaml")} == {"kustomization.yaml", *KUSTOMIZATION["resources"]}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_object_fits_the_schema_of_its_kind(version: str) -> None:
    """Also that no key is misspelt: unknown ones are errors."""
    for one in OBJECTS.values():
        kubernetes_validate.validate(one, version, strict=True)


@pytest.mark.parametrize("name", sorted(PODS))
def test_a_pod_is_not_root_and_cannot_speak_to_the_cluster(name: str) -> None:
    pod = PODS[name]
    context = pod["securityContext"]
    assert pod["automountServiceAccountToken"] is False
    assert context["runAsNonRoot"] is True
    assert context["runAsUser"] == (999 if name == "StatefulSet/postgres" else USER)
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)


@pytest.mark.parametrize("name", sorted(CONTAINERS))
def test_a_container_is_hardened_and_limited(name: str) -> None:
    """And writes only to what is mounted."""
    container = CONTAINERS[name]
    context, resources = container["securityContext"], container["resources"]
    assert context["readOnlyRootFilesystem"] is True
    assert context["allowPrivilegeEscalation"] is False
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert {"cpu", "memory"} <= set(resources["requests"])
    assert "memory" in resources["limits"]
    assert "/tmp" in {mount["mountPath"] for mount in container["volumeMounts"]}


@pytest.mark.parametrize("name", sorted(PODS))
def test_a_running_container_has_all_three_probes(name: str) -> None:
    for container in PODS[name]["containers"]:
        assert {"startupProbe", "livenessProbe", "readinessProbe"} <= set(container)


def test_a_worker_is_restarted_where_it_hangs_and_only_there() -> None:
    """A mailbox that is down is no reason to restart: /readyz only holds back a rollout."""
    worker = CONTAINERS["Deployment/worker/worker"]
    paths = {probe: worker[f"{probe}Probe"]["httpGet"]["path"] for probe in ("startup", "liveness", "readiness")}
    assert paths == {"startup": "/healthz", "liveness": "/healthz", "readiness": "/readyz"}
    assert worker["ports"] == [{"name": "watch", "containerPort": 9464}]


def test_images_are_pinned() -> None:
    """The program's by kustomization.yaml, to this version."""
    (image,) = KUSTOMIZATION["images"]
    assert image == {"name": "support-agent", "newTag": VERSION}
    for container in CONTAINERS.values():
        if container["image"] != "support-agent":
            assert_pinned(container["image"])


def test_what_is_mounted_is_a_volume_of_the_pod() -> None:
    for name, pod in PODS.items():
        claims = OBJECTS[name]["spec"].get("volumeClaimTemplates", ())
        volumes = {one["name"] for one in pod["volumes"]} | {one["metadata"]["name"] for one in claims}
        for container in (*pod.get("initContainers", ()), *pod["containers"]):
            assert {mount["name"] for mount in container["volumeMounts"]} <= volumes


def test_the_settings_are_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, Any] = OBJECTS["ConfigMap/settings"]["data"]
    desk = {one["name"]: one["value"] for one in CONTAINERS["Deployment/desk/desk"]["env"]}
    assert_settings(settings | desk, monkeypatch)


def test_services_and_policies_are_about_pods_that_exist() -> None:
    """A policy whose selector fits no pod protects nothing."""
    labels = {one["spec"]["template"]["metadata"]["labels"]["app"] for name, one in OBJECTS.items() if name in PODS}
    for one in OBJECTS.values():
        if one["kind"] == "Service":
            assert one["spec"]["selector"]["app"] in labels
        if one["kind"] == "NetworkPolicy":
            assert set(selected(one["spec"]["podSelector"])) <= labels
    assert selected(OBJECTS["NetworkPolicy/nothing"]["spec"]["podSelector"]) == []


def selected(selector: dict[str, Any]) -> list[str]:
    """The values of `app` that a selector names."""
    expressions = selector.get("matchExpressions", ())
    return [*selector.get("matchLabels", {}).values(), *(value for one in expressions for value in one["values"])]
