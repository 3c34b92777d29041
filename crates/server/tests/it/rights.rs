//! Who may do what.

use pernode_server::User;
use serde_json::{Value, json};

use crate::harness::Client;

fn nobody() -> [String; 0] {
    []
}

async fn bind(client: &Client, role: &str, user: &str) {
    let binding = json!({
        "metadata": {"name": user}, "subjects": [{"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
    });
    let path = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";
    let answer = client.post(path, &binding).await;
    assert_eq!(answer.code, 201, "{}", answer.text);
}

#[tokio::test]
async fn strangers_see_health_and_version_only() {
    let client = Client::new().await.as_user(User::anonymous());
    assert_eq!(client.get("/healthz").await.code, 200);
    assert_eq!(client.get("/version").await.code, 200);
    assert_eq!(
        client.get("/api").await.status(),
        "403 Forbidden forbidden: User \"system:anonymous\" cannot get path \"/api\""
    );
    assert_eq!(
        client.get("/api/v1/namespaces/n/configmaps").await.status(),
        "403 Forbidden configmaps is forbidden: User \"system:anonymous\" cannot list resource \"configmaps\" in API group \"\" in the namespace \"n\""
    );
}

#[tokio::test]
async fn roles_are_bound_to_users() {
    let admin = Client::new().await;
    let alice = admin.as_user(User::new("alice", nobody()));
    assert_eq!(alice.get("/apis").await.code, 200);
    assert_eq!(
        alice.get("/api/v1/nodes/n1").await.status(),
        "403 Forbidden nodes \"n1\" is forbidden: User \"alice\" cannot get resource \"nodes\" in API group \"\" at the cluster scope"
    );
    bind(&admin, "view", "alice").await;
    assert_eq!(alice.get("/api/v1/namespaces/default/pods").await.code, 200);
    assert_eq!(
        alice.get("/api/v1/namespaces/default/secrets").await.code,
        403
    );
    assert_eq!(
        alice.get("/api/v1/namespaces/kube-system/pods").await.code,
        403
    );
    let bob = admin.as_user(User::new("bob", nobody()));
    bind(&admin, "edit", "bob").await;
    let object = json!({"metadata": {"name": "c"}});
    assert_eq!(
        bob.post("/api/v1/namespaces/default/configmaps", &object)
            .await
            .code,
        201
    );
    assert_eq!(
        bob.get("/api/v1/namespaces/default/configmaps/c")
            .await
            .code,
        200
    );
}

#[tokio::test]
async fn nobody_hands_out_more_than_they_have() {
    let admin = Client::new().await;
    bind(&admin, "admin", "alice").await;
    let alice = admin.as_user(User::new("alice", nobody()));
    let path = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
    let role = |rules: Value| json!({"metadata": {"name": "r"}, "rules": rules});
    let more = role(json!([{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]));
    let refused = alice.post(path, &more).await;
    assert!(
        refused
            .status()
            .contains("attempting to grant RBAC permissions"),
        "{}",
        refused.text
    );
    let own = role(json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]));
    assert_eq!(alice.post(path, &own).await.code, 201);
}

#[tokio::test]
async fn questions_are_answered() {
    let admin = Client::new().await;
    bind(&admin, "view", "alice").await;
    let alice = admin.as_user(User::new("alice", nobody()));
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let may = |verb: &str| json!({"spec": {"resourceAttributes": {"verb": verb, "resource": "pods", "namespace": "default"}}});
    let yes = alice.post(path, &may("get")).await;
    assert_eq!(
        (yes.code, &yes.json()["status"]["allowed"]),
        (201, &json!(true))
    );
    assert_eq!(
        alice.post(path, &may("delete")).await.json()["status"]["allowed"],
        false
    );
    let who = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let answer = alice.post(who, &json!({})).await.json();
    assert_eq!(answer["status"]["userInfo"]["username"], "alice");
    let rules = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    let answer = alice
        .post(rules, &json!({"spec": {"namespace": "default"}}))
        .await
        .json();
    assert!(answer["status"]["resourceRules"].as_array().unwrap().len() > 2);
    let others = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let mut question = may("get");
    question["spec"]["user"] = "alice".into();
    assert_eq!(
        admin.post(others, &question).await.json()["status"]["allowed"],
        true
    );
    assert_eq!(alice.post(others, &question).await.code, 403);
}

#[tokio::test]
async fn service_accounts_have_tokens() {
    let admin = Client::new().await;
    let path = "/api/v1/namespaces/default/serviceaccounts/default/token";
    let request = json!({"spec": {"expirationSeconds": 600}});
    let answer = admin.post(path, &request).await;
    assert_eq!(answer.code, 201, "{}", answer.text);
    let token = answer.json()["status"]["token"].clone();
    let review = "/apis/authentication.k8s.io/v1/tokenreviews";
    let good = admin
        .post(review, &json!({"spec": {"token": token}}))
        .await
        .json();
    assert_eq!(
        good["status"]["user"]["username"],
        "system:serviceaccount:default:default"
    );
    let bad = admin
        .post(review, &json!({"spec": {"token": "bad"}}))
        .await
        .json();
    assert_eq!(
        bad["status"],
        json!({"user": {}, "error": "invalid bearer token"})
    );
    admin
        .delete("/api/v1/namespaces/default/serviceaccounts/default", "")
        .await;
    let gone = admin
        .post(review, &json!({"spec": {"token": token}}))
        .await
        .json();
    assert!(
        gone["status"]["authenticated"].is_null(),
        "a token dies with its account"
    );
}

#[tokio::test]
async fn users_act_as_others_if_they_may() {
    let admin = Client::new().await;
    let who = "POST /apis/authentication.k8s.io/v1/selfsubjectreviews";
    let headers = [
        "content-type: application/json",
        "impersonate-user: bob",
        "impersonate-group: g",
    ];
    let answer = admin.call(who, &headers, "{}").await.json();
    assert_eq!(answer["status"]["userInfo"]["username"], "bob");
    let alice = admin.as_user(User::new("alice", nobody()));
    assert_eq!(
        alice.call(who, &headers, "{}").await.status(),
        "403 Forbidden users \"bob\" is forbidden: User \"alice\" cannot impersonate resource \"users\" in API group \"\" at the cluster scope"
    );
}

#[tokio::test]
async fn a_node_sees_and_changes_itself() {
    let admin = Client::new().await;
    for name in ["n1", "n2"] {
        let node = json!({"metadata": {"name": name}});
        assert_eq!(admin.post("/api/v1/nodes", &node).await.code, 201);
    }
    let node = admin.as_user(User::new("system:node:n1", ["system:nodes"]));
    assert_eq!(node.get("/api/v1/nodes/n1").await.code, 200);
    assert_eq!(
        node.get("/api/v1/nodes/n2").await.status(),
        "403 Forbidden nodes \"n2\" is forbidden: User \"system:node:n1\" cannot get resource \"nodes\" in API group \"\" at the cluster scope: node 'n1' cannot read 'n2', only its own Node object"
    );
    let label = |key: &str| json!({"metadata": {"labels": {key: "x"}}});
    assert_eq!(
        node.patch("merge", "/api/v1/nodes/n1", &label("zone"))
            .await
            .code,
        200
    );
    assert_eq!(
        node.patch("merge", "/api/v1/nodes/n2", &label("zone"))
            .await
            .status(),
        "403 Forbidden nodes \"n2\" is forbidden: node \"n1\" is not allowed to modify node \"n2\""
    );
    let role = label("node-role.kubernetes.io/x");
    assert_eq!(
        node.patch("merge", "/api/v1/nodes/n1", &role)
            .await
            .status(),
        "403 Forbidden nodes \"n1\" is forbidden: is not allowed to modify labels: node-role.kubernetes.io/x"
    );
    assert_eq!(node.get("/api/v1/pods").await.code, 403);
    assert_eq!(
        node.get("/api/v1/pods?fieldSelector=spec.nodeName%3Dn1")
            .await
            .code,
        200
    );
}
