# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""The shape of the job files that `emit` writes: a JSON schema for each kind. ours() are written by hand, and know only the fields that
our files have: a field in a wrong place fails. survives_as() asks Kubernetes' own types. published() are the whole schemas of the
projects, from a folder with these files:

    jobset.yaml   kubernetes-sigs/jobset      config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml
    mpijob.yaml   kubeflow/mpi-operator       manifests/base/kubeflow.org_mpijobs.yaml
    compose.json  compose-spec/compose-spec   schema/compose-spec.json
"""

import json
import pathlib
import types

import yaml

try:
    import kubernetes.client
except ImportError: # python3-kubernetes
    kubernetes = None

TEXT, COUNT = {"type": "string", "minLength": 1}, {"type": "integer", "minimum": 0}
TEXTS = {"type": "array", "items": TEXT, "minItems": 1}


def closed(required, **optional):
    """An object with these fields and no others."""
    return {"type": "object", "properties": {**required, **optional}, "required": list(required), "additionalProperties": False}


def list_of(items):
    return {"type": "array", "items": items, "minItems": 1}


LIMITS = {"type": ["object", "null"], "additionalProperties": COUNT}
CONTAINER = closed(
    {"name": TEXT, "image": TEXT}, command=TEXTS, args=TEXTS, workingDir=TEXT, resources=closed({"limits": LIMITS}),
    env=list_of({"oneOf": [closed({"name": TEXT, "value": TEXT}),
                           closed({"name": TEXT, "valueFrom": closed({"fieldRef": closed({"fieldPath": TEXT})})})]}),
    securityContext=closed({"capabilities": closed({"add": TEXTS})}),
    volumeMounts=list_of(closed({"name": TEXT, "mountPath": TEXT})))
VOLUME = {"oneOf": [closed({"name": TEXT, "emptyDir": closed({"medium": {"const": "Memory"}, "sizeLimit": TEXT})}),
                    closed({"name": TEXT, "persistentVolumeClaim": closed({"claimName": TEXT})})]}
SELECTOR = closed({"matchLabels": {"type": "object", "additionalProperties": TEXT}})
APART = list_of(closed({"topologyKey": TEXT, "labelSelector": SELECTOR}))
POD = closed({"containers": list_of(CONTAINER)}, restartPolicy={"const": "Never"}, volumes=list_of(VOLUME),
             affinity=closed({"podAntiAffinity": closed({"requiredDuringSchedulingIgnoredDuringExecution": APART})}))
TEMPLATE = closed({"spec": POD})
REPLICAS = closed({"replicas": COUNT, "template": TEMPLATE})
JOB = closed({"completionMode": {"const": "Indexed"}, "parallelism": COUNT, "completions": COUNT, "backoffLimit": COUNT,
              "template": TEMPLATE})
DEVICE = closed({"driver": TEXT, "count": COUNT, "capabilities": TEXTS})
SERVICE = closed(
    {"image": TEXT, "working_dir": TEXT, "command": TEXTS, "shm_size": TEXT, "ulimits": closed({"memlock": {"const": -1}}),
     "volumes": TEXTS},
    environment={"type": "object", "additionalProperties": TEXT}, devices=TEXTS, cap_add=TEXTS, network_mode=TEXT,
    deploy=closed({"resources": closed({"reservations": closed({"devices": list_of(DEVICE)})})}))


def resource(version, kind, spec):
    return closed({"apiVersion": {"const": version}, "kind": {"const": kind}, "metadata": closed({"name": TEXT}), "spec": spec})


def ours():
    return {
        "jobset": resource("jobset.x-k8s.io/v1alpha2", "JobSet", closed(
            {"network": closed({"enableDNSHostnames": {"const": True}}), "failurePolicy": closed({"maxRestarts": COUNT}),
             "replicatedJobs": list_of(closed({"name": TEXT, "replicas": COUNT, "template": closed({"spec": JOB})}))})),
        "mpijob": resource("kubeflow.org/v2beta1", "MPIJob", closed(
            {"slotsPerWorker": COUNT, "runPolicy": closed({"cleanPodPolicy": TEXT, "backoffLimit": COUNT}),
             "mpiReplicaSpecs": closed({"Launcher": REPLICAS, "Worker": REPLICAS})})),
        "compose": closed({"services": closed({"ncclprobe": SERVICE})}),
    }


def strict(schema):
    """The schema of a Kubernetes resource as JSON Schema. As with kubectl, an unknown field is an error."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    schema = {key: strict(value) for key, value in schema.items()}
    if schema.get("type") == "object" and isinstance(schema.get("properties"), dict):
        schema.setdefault("additionalProperties", schema.get("x-kubernetes-preserve-unknown-fields", False))
    return schema


def published(folder):
    folder = pathlib.Path(folder)
    schemas = {"compose": json.loads((folder / "compose.json").read_text())}
    for kind, version in (("jobset", "v1alpha2"), ("mpijob", "v2beta1")):
        resource_definition = yaml.safe_load((folder / f"{kind}.yaml").read_text())
        schema = next(one["schema"]["openAPIV3Schema"] for one in resource_definition["spec"]["versions"] if one["name"] == version)
        schemas[kind] = strict(schema)
        schemas[kind]["properties"]["metadata"] = {"type": "object"} # definitions leave it out: it is every resource's
    return schemas


def survives_as(kind, document):
    """Whether Kubernetes' client, which is made from the cluster's interface, reads and writes all of a document as an object of this
    kind. It drops what it does not know, and raises ValueError where something is missing."""
    client = kubernetes.client.ApiClient()
    read = client.deserialize(types.SimpleNamespace(data=json.dumps(document)), kind)
    return scalars_as_text(client.sanitize_for_serialization(read)) == scalars_as_text(document)


def scalars_as_text(value):
    if isinstance(value, dict):
        return {key: scalars_as_text(one) for key, one in value.items()}
    return [scalars_as_text(one) for one in value] if isinstance(value, list) else str(value)
