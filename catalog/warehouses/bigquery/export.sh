#!/bin/sh
# Makes the files of an export in the current folder: ORGANIZATION=700 sh THIS_FILE
# It needs roles/cloudasset.viewer, roles/iam.denyReviewer, roles/bigquery.metadataViewer and the reading of groups, and
# reads no data of a table.
set -eu

# All policies: of the organization, its folders and projects, and of datasets and tables.
gcloud asset search-all-iam-policies --scope="organizations/$ORGANIZATION" --format=json \
    | jq -c '.[]' > iam_policies.jsonl

# What reads the datasets of each project for others: authorized views, routines and datasets.
gcloud asset search-all-resources --scope="organizations/$ORGANIZATION" --format=json \
    --asset-types=bigquery.googleapis.com/Dataset \
    | jq -r '.[].name | capture("projects/(?<project>[^/]+)/datasets/(?<dataset>.+)") | "\(.project):\(.dataset)"' \
    | while read -r dataset; do bq show --format=json "$dataset" < /dev/null; echo; done > datasets.jsonl

# Which projects and folders are in which.
gcloud asset search-all-resources --scope="organizations/$ORGANIZATION" --format=json \
    --asset-types=cloudresourcemanager.googleapis.com/Project,cloudresourcemanager.googleapis.com/Folder \
    | jq -c '.[]' > hierarchy.jsonl

# The deny policies of the organization, its folders and projects.
jq -r '.name | sub("^//"; "")' hierarchy.jsonl \
    | { echo "cloudresourcemanager.googleapis.com/organizations/$ORGANIZATION"; cat; } \
    | while read -r place; do
        gcloud iam policies list --attachment-point="$place" --kind=denypolicies --format='value(name)' < /dev/null \
            | while read -r policy; do
                gcloud iam policies get "${policy##*/}" --attachment-point="$place" --kind=denypolicies --format=json \
                    < /dev/null | jq -c .
            done
    done > denies.jsonl

# The members of the groups that the policies name.
echo 'object_type,object,privilege,grantee_type,grantee' > group_members.csv
jq -r '.policy.bindings[].members[] | select(startswith("group:")) | sub("^group:"; "")' iam_policies.jsonl | sort -u \
    | while read -r group; do
        gcloud identity groups memberships list --group-email="$group" --format=json < /dev/null \
            | jq -r --arg group "$group" '.[] | (if .type == "GROUP" then "GROUP" else "USER" end) as $kind
                | ["ROLE", $group, "MEMBER", $kind, .preferredMemberKey.id] | @csv'
    done >> group_members.csv

# QUERY
# Without Cloud Asset Inventory: the bindings of each dataset (DATASET) and table (DATASET.TABLE) that you name behind
# the script; REGION is where they are. All that you do not name is left out, and so is what stands above datasets.
for object in "$@"; do
    case "$object" in *.*) part="s/DATASET/${object%.*}/" ;; *) part="s/object_schema = 'DATASET' AND //" ;; esac
    sed -e "s/REGION/$REGION/" -e "$part" -e "s/OBJECT'/${object#*.}'/" <<'SQL' \
        | bq query --use_legacy_sql=false --format=csv --max_rows=100000 > "object_privileges_$object.csv"
{select}
SQL
done
# END

# The entry in exports.json, with the files in the folder "google":
# {"name": "google", "platform": "bigquery", "form": "bigquery", "email_domain": "x.example",
#  "grants": ["google/iam_policies.jsonl", "google/datasets.jsonl"], "members": ["google/group_members.csv"],
#  "hierarchy": "google/hierarchy.jsonl", "denies": "google/denies.jsonl"}
