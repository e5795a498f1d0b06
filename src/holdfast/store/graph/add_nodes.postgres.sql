-- Put the nodes of a flow on record, from columns; one of nothing but nulls comes as null.
INSERT INTO holdfast_node ({node})
SELECT {node}
FROM unnest(
    :job_id::uuid[], :flow_id::uuid[], :name::text[], :item::integer[], :join_kind::text[], :need::integer[],
    :parents::integer[], :taken::integer[], :dead::integer[], :broken::integer[]
) AS n ({node})
