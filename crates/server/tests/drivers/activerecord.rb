# ActiveRecord's migrations, models and introspection over the pg gem. The server's port is the argument.

require 'active_record'
require 'stringio'

def check(found, expected)
  raise "#{found.inspect} is not #{expected.inspect}" unless found == expected
end

def refused(kind)
  yield
  raise "#{kind} was not raised"
rescue kind
  nil
end

ActiveRecord::Base.establish_connection(
  adapter: 'postgresql', host: '127.0.0.1', port: ARGV[0], database: 'postgres', username: 'postgres'
)
ActiveRecord::Migration.verbose = false
ActiveRecord::Schema.verbose = false
DATABASE = ActiveRecord::Base.connection

class CreateAll < ActiveRecord::Migration[6.1]
  def change
    reversible { |way| way.up { execute "create type status as enum ('draft', 'live')" } }
    create_table :authors do |t|
      t.string :name, null: false, limit: 50
      t.string :email, index: { unique: true }
      t.jsonb :settings, default: {}
      t.string :roles, array: true, default: []
      t.decimal :balance, precision: 10, scale: 2, default: 0
      t.date :born
      t.integer :lock_version, default: 0
      t.timestamps
    end
    create_table :posts do |t|
      t.references :author, null: false, foreign_key: { on_delete: :cascade }
      t.string :title
      t.integer :kind, default: 0
      t.uuid :token, default: -> { 'gen_random_uuid()' }
      t.datetime :published_at, precision: 6
      t.integer :comments_count, default: 0
      t.timestamps
    end
    add_column :posts, :status, :status, default: 'draft'
    create_table :comments do |t|
      t.references :post, foreign_key: true
      t.bigint :score
    end
    create_table(:tags) { |t| t.string :name, comment: 'its name' }
    create_join_table(:posts, :tags, table_name: :taggings) { |t| t.index %i[post_id tag_id], unique: true }
    add_index :posts, :published_at, where: 'published_at is not null', name: 'posts_live'
    add_index :posts, 'lower(title)', name: 'posts_lower'
    add_index :posts, %i[author_id created_at], order: { created_at: :desc }
    add_check_constraint :comments, 'score >= 0', name: 'score_positive'
    change_table_comment :tags, 'tags of posts'
  end
end

class Author < ActiveRecord::Base
  has_many :posts
  validates :email, uniqueness: true
end

class Post < ActiveRecord::Base
  belongs_to :author
  has_many :comments
  has_and_belongs_to_many :tags, join_table: :taggings
  enum kind: { note: 0, essay: 1 }
end

class Comment < ActiveRecord::Base
  belongs_to :post, counter_cache: true
end

class Tag < ActiveRecord::Base; end

def models
  ann = Author.create!(name: 'Ann', email: 'a@x', settings: { theme: 'dark', n: [1, 2] }, roles: %w[x y], balance: '12.34',
                       born: Date.new(2000, 2, 29)).reload
  check [ann.settings, ann.roles, ann.balance.to_s, ann.born], [{ 'theme' => 'dark', 'n' => [1, 2] }, %w[x y], '12.34', Date.new(2000, 2, 29)]
  check Author.new(name: 'Bob', email: 'a@x').valid?, false
  refused(ActiveRecord::RecordNotUnique) { Author.new(name: 'Bob', email: 'a@x').save(validate: false) }
  refused(ActiveRecord::NotNullViolation) { Author.create!(email: 'b@x') }
  refused(ActiveRecord::ValueTooLong) { Author.create!(name: 'x' * 51) }
  3.times { |at| ann.posts.create!(title: "T#{at}", kind: at % 2, published_at: Time.utc(2026, 7, 1, 12, at)) }
  post = Post.order(:id).first
  check Post.essay.pluck(:title), ['T1']
  check post.published_at, Time.utc(2026, 7, 1, 12)
  Comment.create!(post: post, score: 1)
  check post.reload.comments_count, 1
  refused(ActiveRecord::StatementInvalid) { Comment.create!(post: post, score: -1) }
  post.tags << Tag.create!(name: 'red')
  check Post.joins(:tags).where(tags: { name: 'red' }).count, 1
  check Author.joins(:posts).group(:name).count, { 'Ann' => 3 }
  check Author.includes(posts: :comments).references(:posts).where('posts.title like ?', 'T%').to_a.first.posts.size, 3
  check Author.where("settings->>'theme' = ?", 'dark').where('settings @> ?', { n: [1] }.to_json).count, 1
  check Author.where('? = any(roles)', 'x').count, 1
end

def changes
  check Post.where(kind: 0).update_all("title = title || '!'"), 2
  check Post.joins(:author).where(authors: { name: 'Ann' }).update_all(status: 'live'), 3
  check Tag.insert_all([{ name: 'a' }, { name: 'b' }]).rows.size, 2
  now = Time.now
  Author.upsert_all([{ name: 'Ada', email: 'a@x', created_at: now, updated_at: now }], unique_by: :email)
  check Author.pluck(:name), ['Ada']
  check Author.find_or_create_by!(email: 'a@x').name, 'Ada'
  names = []
  Tag.find_each(batch_size: 2) { |tag| names << tag.name }
  check names, %w[red a b]
  Post.transaction { ['FOR UPDATE', 'FOR UPDATE SKIP LOCKED', 'FOR NO KEY UPDATE'].each { |lock| Post.lock(lock).first } }
  one, other = Author.first, Author.first
  one.update!(name: 'One')
  refused(ActiveRecord::StaleObjectError) { other.update!(name: 'Other') }
  Tag.transaction do
    Tag.create!(name: 'kept')
    Tag.transaction(requires_new: true) { Tag.create!(name: 'gone') && raise(ActiveRecord::Rollback) }
  end
  check Tag.where(name: %w[kept gone]).pluck(:name), ['kept']
  check Author.transaction(isolation: :serializable) { Author.count }, 1
  check [DATABASE.get_advisory_lock(42), DATABASE.release_advisory_lock(42)], [true, true]
  check Comment.order(:id).limit(1).delete_all, 1
end

def introspection
  live = DATABASE.indexes('posts').find { |index| index.name == 'posts_live' }
  check [live.columns, live.where], [['published_at'], '(published_at IS NOT NULL)']
  check DATABASE.foreign_keys('posts').map { |key| [key.to_table, key.column, key.on_delete] }, [['authors', 'author_id', :cascade]]
  check DATABASE.check_constraints('comments').map { |known| [known.name, known.expression] }, [['score_positive', 'score >= 0']]
  check [DATABASE.table_comment('tags'), DATABASE.columns('tags').map(&:comment)], ['tags of posts', [nil, 'its name']]
  check [DATABASE.primary_key('posts'), DATABASE.extensions], ['id', ['plpgsql']]
  DATABASE.rename_table :tags, :labels
  DATABASE.rename_table :labels, :tags
  DATABASE.rename_column :tags, :name, :label
  DATABASE.change_column :tags, :label, :text
  DATABASE.change_column_null :tags, :label, false, 'none'
  DATABASE.rename_index :posts, 'posts_lower', 'posts_by_title'
  Tag.reset_column_information
  check Tag.columns_hash['label'].sql_type, 'text'
end

# A dump of the schema makes the same schema.
def schema
  dump = -> { StringIO.new.tap { |out| ActiveRecord::SchemaDumper.dump(DATABASE, out) }.string }
  # The dump of this version of ActiveRecord has no enumerated types.
  DATABASE.remove_column :posts, :status
  before = dump.call
  %w[taggings comments posts tags authors].each { |table| DATABASE.drop_table(table) }
  eval(before)
  check dump.call, before
end

# What `rails db:create` and `rails db:drop` do.
def databases
  config = ActiveRecord::Base.connection_db_config
  tasks = ActiveRecord::Tasks::PostgreSQLDatabaseTasks
  shop = ActiveRecord::DatabaseConfigurations::HashConfig.new('test', 'primary', config.configuration_hash.merge(database: 'shop'))
  tasks.new(shop).create
  refused(ActiveRecord::DatabaseAlreadyExists) { tasks.new(shop).create }
  ActiveRecord::Base.establish_connection(shop)
  within = ActiveRecord::Base.connection
  check [within.current_database, within.tables], ['shop', []]
  within.create_table(:goods) { |t| t.string :name }
  check within.tables, ['goods']
  tasks.new(shop).purge
  check ActiveRecord::Base.connection.tables, []
  tasks.new(shop).drop
  check ActiveRecord::Base.connection.select_values('select datname from pg_database'), ['postgres']
end

CreateAll.migrate(:up)
models
changes
introspection
schema
databases
puts 'ok'
